/**
 * `svc task retry` in PostgreSQL: the new task, bound to the thread of the old one.
 *
 * @module
 */

import type { RetryOf, Task } from "../task_records.ts";
import { bindRetry } from "../sql/bindings.ts";
import { checkPayload } from "../sql/delete_bodies.ts";
import { retryTask as storeRetry } from "../transactions/retry_task.ts";
import type { Session } from "./database/connections.ts";
import { readTasks } from "./tasks/task_lists.ts";
import { changeTasks } from "./working_set/change_tasks.ts";

/**
 * Stores the new task.
 *
 * @throws {AppError} `not_found` when the old one is gone, `conflict` when it has not ended or
 * cannot be run, or its payload was deleted.
 */
export async function retryTask(db: Session, retry: RetryOf): Promise<Task> {
  await changeTasks(db, (wanted) => wanted.addTask(retry.of), (set) => storeRetry(set, retry));
  // Only now that the task is locked: deleting its payload takes that lock, too.
  await checkPayload(db, retry.of);
  await bindRetry(db, retry);
  const [task] = await readTasks(db, "WHERE id = ?", [retry.id]);
  if (task === undefined) throw new Error(`Task ${retry.id} was not stored`);
  return task;
}
