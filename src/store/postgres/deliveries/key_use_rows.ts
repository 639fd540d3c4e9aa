/**
 * The table `key_uses`: which secret keys still match deliveries.
 *
 * @module
 */

import type { KeyUse } from "../../delivery_records.ts";
import { toKeyUse } from "../../sql/key_uses.ts";
import type { Session } from "../database/connections.ts";

/** Adds to the counts, in one order: two daemons that count the same keys do not block each other. */
export async function recordKeyUse(db: Session, uses: readonly KeyUse[]): Promise<void> {
  await db.run(
    `INSERT INTO key_uses
       SELECT project, store, key, "trigger", sum(count), max(last_at)
       FROM unnest(?::text[], ?::text[], ?::text[], ?::text[], ?::bigint[], ?::bigint[])
         AS used (project, store, key, "trigger", count, last_at)
       GROUP BY project, store, key, "trigger" ORDER BY project, store, key, "trigger"
     ON CONFLICT (project, store, key, "trigger") DO UPDATE SET
       count = key_uses.count + excluded.count,
       last_at = greatest(key_uses.last_at, excluded.last_at)`,
    uses.map(({ project }) => project),
    uses.map(({ store }) => store),
    uses.map(({ key }) => key),
    uses.map(({ trigger }) => trigger),
    uses.map(({ count }) => count),
    uses.map(({ lastAt }) => lastAt),
  );
}

/** Uses of the keys of one SecretStore. */
export async function listKeyUse(db: Session, project: string, store: string): Promise<KeyUse[]> {
  const rows = await db.all(
    `SELECT * FROM key_uses WHERE project = ? AND store = ? ORDER BY key, "trigger"`,
    project,
    store,
  );
  return rows.map(toKeyUse);
}
