/**
 * The table `task_ends`: ended tasks that triggers follow, kept until those triggers have fired, so
 * that a crash between the end of one task and the start of the next loses nothing.
 *
 * @module
 */

import { text } from "../../sql/columns.ts";
import type { Task } from "../../task_records.ts";
import type { Session } from "../database/connections.ts";
import { readTasks } from "./task_lists.ts";

/**
 * How long an end is left to the node that was given it. That spares work and no more: an end that
 * two nodes handle fires once, because the events have ids.
 */
const RESERVED = "interval '10 seconds'";

/** Ended tasks whose triggers have not fired yet, oldest first, which this node may now handle. */
export async function listTaskEnds(db: Session, limit: number): Promise<Task[]> {
  const rows = await db.all(
    `UPDATE task_ends SET node = ?1, reserved_until = now() + ${RESERVED} WHERE task_id IN (
       SELECT task_id FROM task_ends WHERE node = ?1 OR reserved_until <= now()
       ORDER BY task_id LIMIT ?2 FOR UPDATE SKIP LOCKED)
     RETURNING task_id`,
    db.owner.node,
    limit,
  );
  const ids = rows.map((row) => text(row, "task_id"));
  return await readTasks(db, "WHERE id = ANY (?) ORDER BY id", [ids]);
}
