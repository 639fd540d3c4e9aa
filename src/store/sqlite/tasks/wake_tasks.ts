/**
 * Lets tasks go on that wait in their midst, in SQLite.
 *
 * @module
 */

import { DUE_TASK_COLUMNS, toDueTask } from "../../sql/task_facts.ts";
import { wakeTask } from "../../transactions/park_task.ts";
import type { Database } from "../engine/database.ts";
import { SqliteTaskRows } from "./sqlite_task_rows.ts";

/** Lets those of these tasks go on that wait. */
export function wakeTasks(db: Database, taskIds: readonly string[], now: number): void {
  for (const id of taskIds) {
    const row = db.get(
      `SELECT ${DUE_TASK_COLUMNS} FROM tasks WHERE id = ? AND state = 'waiting'`,
      id,
    );
    if (row !== undefined) wakeTask(new SqliteTaskRows(db), toDueTask(row), now);
  }
}
