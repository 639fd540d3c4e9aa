/**
 * `svc task retry` in SQLite: the new task, bound to the thread of the old one.
 *
 * @module
 */

import type { RetryOf, Task } from "../task_records.ts";
import { checkPayload, PAYLOAD_GONE } from "../sql/delete_bodies.ts";
import { retryTask as storeRetry } from "../transactions/retry_task.ts";
import { bindRetry } from "./chat/binding_rows.ts";
import type { Database } from "./engine/database.ts";
import { SqliteTaskRows } from "./tasks/sqlite_task_rows.ts";
import { readTasks } from "./tasks/task_rows.ts";

/**
 * Stores the new task.
 *
 * @throws {AppError} `not_found` when the old one is gone, `conflict` when it has not ended or
 * cannot be run, or its payload was deleted.
 */
export function retryTask(db: Database, retry: RetryOf): Task {
  checkPayload(retry.of, db.get(PAYLOAD_GONE, retry.of));
  storeRetry(new SqliteTaskRows(db), retry);
  bindRetry(db, retry);
  const [task] = readTasks(db, "WHERE id = ?", [retry.id]);
  if (task === undefined) throw new Error(`Task ${retry.id} was not stored`);
  return task;
}
