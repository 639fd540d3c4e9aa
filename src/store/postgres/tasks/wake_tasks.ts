/**
 * Lets tasks go on that wait in their midst, in a database that several daemons share.
 *
 * @module
 */

import { wakeTask } from "../../transactions/park_task.ts";
import type { Session } from "../database/connections.ts";
import { changeTasks } from "../working_set/change_tasks.ts";

/** Lets those of these tasks go on that wait, when their limits have room. */
export async function wakeTasks(
  db: Session,
  taskIds: readonly string[],
  now: number,
): Promise<void> {
  await changeTasks(db, (request) => {
    for (const id of taskIds) request.addTask(id);
  }, (set) => {
    for (const id of taskIds) {
      const task = set.findTask(id);
      if (task !== "none" && task.state === "waiting") wakeTask(set, { id, ...task }, now);
    }
  });
}
