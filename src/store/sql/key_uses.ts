/**
 * The table `key_uses`, in both databases: which secret keys still match deliveries.
 *
 * @module
 */

import type { KeyUse } from "../delivery_records.ts";
import { number, text } from "./columns.ts";
import type { SqlSession } from "./session.ts";

/** Adds to the counts, in one order: two daemons that count the same keys do not block each other. */
export async function recordKeyUse(db: SqlSession, uses: readonly KeyUse[]): Promise<void> {
  const keyOf = ({ project, store, key, trigger }: KeyUse) =>
    JSON.stringify([project, store, key, trigger]);
  for (const use of uses.toSorted((a, b) => keyOf(a) < keyOf(b) ? -1 : 1)) {
    await db.run(
      `INSERT INTO key_uses (project, store, key, "trigger", count, last_at)
       VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (project, store, key, "trigger") DO UPDATE SET
         count = key_uses.count + excluded.count,
         last_at = CASE WHEN key_uses.last_at > excluded.last_at
           THEN key_uses.last_at ELSE excluded.last_at END`,
      use.project,
      use.store,
      use.key,
      use.trigger,
      use.count,
      use.lastAt,
    );
  }
}

/** Uses of the keys of one SecretStore. */
export async function listKeyUse(
  db: SqlSession,
  project: string,
  store: string,
): Promise<KeyUse[]> {
  const rows = await db.all(
    `SELECT * FROM key_uses WHERE project = ? AND store = ? ORDER BY key, "trigger"`,
    project,
    store,
  );
  return rows.map((row) => ({
    project: text(row, "project"),
    store: text(row, "store"),
    key: text(row, "key"),
    trigger: text(row, "trigger"),
    count: number(row, "count"),
    lastAt: number(row, "last_at"),
  }));
}
