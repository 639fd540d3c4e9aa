/**
 * The table `cursors`: the time up to which each schedule has been evaluated.
 *
 * @module
 */

import type { Cursor } from "../../delivery_records.ts";
import { isNewRun } from "../../rules/schedule_runs.ts";
import { number } from "../../sql/columns.ts";
import type { Session } from "../database/connections.ts";

/** Time of a cursor; `undefined` before it was first set. */
export async function findCursor(db: Session, name: string): Promise<number | undefined> {
  const row = await db.get("SELECT at FROM cursors WHERE name = ?", name);
  return row === undefined ? undefined : number(row, "at");
}

/** Moves a cursor to a run, unless that was claimed before, by this daemon or another. */
export async function claimRun(db: Session, { name, at }: Cursor): Promise<boolean> {
  await db.lock(`cursor/${name}`);
  if (!isNewRun(await findCursor(db, name) ?? "none", at)) return false;
  await db.run(
    "INSERT INTO cursors VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET at = ?2",
    name,
    at,
  );
  return true;
}
