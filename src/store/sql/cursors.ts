/**
 * The table `cursors`, in both databases: the time up to which each schedule has been evaluated.
 *
 * @module
 */

import type { Cursor } from "../delivery_records.ts";
import { isNewRun } from "../rules/schedule_runs.ts";
import { number } from "./columns.ts";
import type { SqlSession } from "./session.ts";

/** Time of a cursor; `undefined` before it was first set. */
export async function findCursor(db: SqlSession, name: string): Promise<number | undefined> {
  const row = await db.get("SELECT at FROM cursors WHERE name = ?", name);
  return row === undefined ? undefined : number(row, "at");
}

/** Sets a cursor, forward or back. Takes its name and the time. */
export const MOVE_CURSOR =
  "INSERT INTO cursors VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET at = ?2";

/** Moves a cursor to a run, unless that was claimed before, by this daemon or another. */
export async function claimRun(db: SqlSession, { name, at }: Cursor): Promise<boolean> {
  await db.lock(`cursor/${name}`);
  if (!isNewRun(await findCursor(db, name) ?? "none", at)) return false;
  await db.run(MOVE_CURSOR, name, at);
  return true;
}
