/**
 * The end of a task, in the tables `tasks` and `steps`.
 *
 * @module
 */

import type { TaskLimits } from "../../rules/limits.ts";
import type { Found } from "../../rules/needs.ts";
import { storable } from "../../sql/columns.ts";
import { LIMIT_COLUMNS, toLimits } from "../../sql/limits.ts";
import { STORED_TASK_COLUMNS, toStoredTask } from "../../sql/task_facts.ts";
import type { TaskEnd } from "../../task_records.ts";
import type { StoredTask } from "../../transactions/task_rows.ts";
import type { Database } from "../engine/database.ts";
import { saveStep } from "./task_rows.ts";

/** A task, as far as it is cancelled or retried. */
export function findTask(db: Database, id: string): Found<StoredTask> {
  const row = db.get(`SELECT ${STORED_TASK_COLUMNS} FROM tasks WHERE id = ?`, id);
  return row === undefined ? "none" : toStoredTask(row);
}

/** Marks a started task to be stopped; the first reason stays. */
export function requestCancel(db: Database, taskId: string, reason: string): void {
  db.run(
    "UPDATE tasks SET cancel_reason = COALESCE(cancel_reason, ?) WHERE id = ?",
    storable(reason),
    taskId,
  );
}

/** Ends a task that is in state `from`; gives the limits whose room it occupied. */
export function endTask(
  db: Database,
  end: TaskEnd,
  from: "pending" | "running",
): Found<TaskLimits> {
  for (const step of end.steps ?? []) saveStep(db, end.taskId, step);
  const row = db.returning(
    `UPDATE tasks SET state = ?1, finished_at = ?2,
       reason = CASE WHEN ?1 = 'cancelled' THEN COALESCE(cancel_reason, ?3) ELSE ?3 END
     WHERE id = ?4 AND state = ?5 RETURNING ${LIMIT_COLUMNS}`,
    end.state,
    end.now,
    storable(end.reason),
    end.taskId,
    from,
  );
  if (row === undefined) return "none";
  if (end.state !== "succeeded") endRunningSteps(db, end);
  return toLimits(row);
}

/** Ends steps with their task that a crash or a bug interrupted. */
function endRunningSteps(db: Database, { taskId, state, reason, now }: TaskEnd): void {
  db.run(
    `UPDATE steps SET state = ?, reason = ?, finished_at = ?, process_group = NULL
     WHERE task_id = ? AND state = 'running'`,
    state,
    storable(reason),
    now,
    taskId,
  );
}
