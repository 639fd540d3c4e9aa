/**
 * The table `prune_positions`, in both databases: from where the removal from a table continues.
 *
 * @module
 */

import { text } from "./columns.ts";
import type { SqlSession } from "./session.ts";

/** The position from which the removal of `name` continues. */
export async function positionOf(db: SqlSession, name: string): Promise<string | undefined> {
  const row = await db.get("SELECT position FROM prune_positions WHERE name = ?", name);
  return row === undefined ? undefined : text(row, "position");
}

/** Stores the position from which the removal of `name` continues. */
export async function savePosition(db: SqlSession, name: string, position: string): Promise<void> {
  await db.run(
    `INSERT INTO prune_positions (name, position) VALUES (?, ?)
     ON CONFLICT (name) DO UPDATE SET position = excluded.position
       WHERE prune_positions.position <> excluded.position`,
    name,
    position,
  );
}
