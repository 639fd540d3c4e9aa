/**
 * The table `cursors`: the time up to which each schedule has been evaluated.
 *
 * @module
 */

import { number } from "../../sql/columns.ts";
import type { Session } from "../database/connections.ts";

/** Time of a cursor; `undefined` before it was first set. */
export async function findCursor(db: Session, name: string): Promise<number | undefined> {
  const row = await db.get("SELECT at FROM cursors WHERE name = ?", name);
  return row === undefined ? undefined : number(row, "at");
}
