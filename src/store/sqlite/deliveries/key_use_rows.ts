/**
 * The table `key_uses`: which secret keys still match deliveries.
 *
 * @module
 */

import type { KeyUse } from "../../delivery_records.ts";
import { toKeyUse } from "../../sql/key_uses.ts";
import type { Database } from "../engine/database.ts";

/** Adds to the counts. */
export function recordKeyUse(db: Database, uses: readonly KeyUse[]): void {
  for (const { project, store, key, trigger, count, lastAt } of uses) {
    db.run(
      `INSERT INTO key_uses VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
         count = count + excluded.count, last_at = max(last_at, excluded.last_at)`,
      project,
      store,
      key,
      trigger,
      count,
      lastAt,
    );
  }
}

/** Uses of the keys of one SecretStore. */
export function listKeyUse(db: Database, project: string, store: string): KeyUse[] {
  return db.all(
    `SELECT * FROM key_uses WHERE project = ? AND store = ? ORDER BY key, "trigger"`,
    project,
    store,
  ).map(toKeyUse);
}
