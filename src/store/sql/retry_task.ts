/**
 * `svc task retry` in the store: the new task, bound to the thread of the old one, with its messages.
 *
 * @module
 */

import type { RetryOf, Task } from "../task_records.ts";
import { retryTask as storeRetry } from "../transactions/retry_task.ts";
import type { ChangeTasks } from "../transactions/task_rows.ts";
import { bindRetry } from "./bindings.ts";
import { goOnWithRetry } from "./conversations.ts";
import { checkPayload } from "./delete_bodies.ts";
import { giveToRetry } from "./inbox.ts";
import type { SqlSession } from "./session.ts";

/**
 * Stores the new task; `findTasks` reads it back, as `TaskStore` has it.
 *
 * @throws {AppError} `not_found` when the old one is gone, `conflict` when it has not ended or
 * cannot be run, or its payload was deleted; `StaleResourcesError`.
 */
export const retryTask = <Db extends SqlSession>(
  findTasks: (db: Db, id: string) => Task[] | Promise<Task[]>,
) =>
async (db: Db, changeTasks: ChangeTasks, retry: RetryOf): Promise<Task> => {
  const { of, resourceVersion } = retry;
  await changeTasks((facts) => {
    facts.addTask(of);
    if (resourceVersion !== undefined) facts.addResourceVersion();
  }, (rows) => {
    rows.checkResources(resourceVersion);
    storeRetry(rows, retry);
  });
  // Only now that the task is locked: deleting its payload takes that lock, too.
  await checkPayload(db, retry.of);
  await db.run(
    `UPDATE tasks SET inputs = old.inputs FROM tasks AS old
     WHERE tasks.id = ? AND old.id = ? AND old.inputs IS NOT NULL`,
    retry.id,
    retry.of,
  );
  await bindRetry(db, retry);
  await goOnWithRetry(db, retry);
  await giveToRetry(db, retry);
  const [task] = await findTasks(db, retry.id);
  if (task === undefined) throw new Error(`Task ${retry.id} was not stored`);
  return task;
};
