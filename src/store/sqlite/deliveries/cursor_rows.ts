/**
 * The table `cursors`: the time up to which each schedule has been evaluated.
 *
 * @module
 */

import type { Cursor } from "../../delivery_records.ts";
import { isNewRun } from "../../rules/schedule_runs.ts";
import { number } from "../../sql/columns.ts";
import type { Database } from "../engine/database.ts";

/** Time of a cursor; `undefined` before it was first set. */
export function findCursor(db: Database, name: string): number | undefined {
  const row = db.get("SELECT at FROM cursors WHERE name = ?", name);
  return row === undefined ? undefined : number(row, "at");
}

/** Sets a cursor, forward or back. */
export function moveCursor(db: Database, { name, at }: Cursor): void {
  db.run("INSERT INTO cursors VALUES (?1, ?2) ON CONFLICT DO UPDATE SET at = ?2", name, at);
}

/** Moves a cursor to a run, unless that was claimed before. */
export function claimRun(db: Database, cursor: Cursor): boolean {
  if (!isNewRun(findCursor(db, cursor.name) ?? "none", cursor.at)) return false;
  moveCursor(db, cursor);
  return true;
}
