/**
 * `svc task retry` in SQLite: the new task, bound to the thread of the old one.
 *
 * @module
 */

import type { RetryOf, Task } from "../task_records.ts";
import { bindRetry } from "../sql/bindings.ts";
import { checkPayload } from "../sql/delete_bodies.ts";
import { retryTask as storeRetry } from "../transactions/retry_task.ts";
import type { Database } from "./engine/database.ts";
import { SqliteTaskRows } from "./tasks/sqlite_task_rows.ts";
import { readTasks } from "./tasks/task_lists.ts";

/**
 * Stores the new task.
 *
 * @throws {AppError} `not_found` when the old one is gone, `conflict` when it has not ended or
 * cannot be run, or its payload was deleted.
 */
export async function retryTask(db: Database, retry: RetryOf): Promise<Task> {
  await checkPayload(db, retry.of);
  storeRetry(new SqliteTaskRows(db), retry);
  await bindRetry(db, retry);
  const [task] = readTasks(db, "WHERE id = ?", [retry.id]);
  if (task === undefined) throw new Error(`Task ${retry.id} was not stored`);
  return task;
}
