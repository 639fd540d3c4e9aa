/**
 * The table `cursors`: up to where a schedule has been looked at.
 *
 * @module
 */

import type { Cursor } from "../../delivery_records.ts";
import { number } from "../engine/columns.ts";
import type { Database } from "../engine/database.ts";

/** Up to where; `undefined` when it never was. */
export function findCursor(db: Database, name: string): number | undefined {
  const row = db.get("SELECT at FROM cursors WHERE name = ?", name);
  return row === undefined ? undefined : number(row, "at");
}

/** Moves a cursor, forward or back. */
export function moveCursor(db: Database, { name, at }: Cursor): void {
  db.run("INSERT INTO cursors VALUES (?1, ?2) ON CONFLICT DO UPDATE SET at = ?2", name, at);
}
