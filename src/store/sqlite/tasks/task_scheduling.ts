/**
 * Which tasks a worker gets: claims, requeues and parked tasks. A task whose time has come waits for room first.
 *
 * @module
 */

import { defined } from "../../../base/defined.ts";
import type { Claim, ClaimedTask, StepRecord } from "../../task_records.ts";
import { text } from "../../sql/columns.ts";
import { isGone } from "../../rules/ownership.ts";
import type { Database } from "../engine/database.ts";
import { READINESS } from "../../sql/readiness.ts";
import { whatIsDue } from "../../rules/readiness.ts";
import { decidePark } from "../../rules/turns.ts";
import { toParked, TURNS_OF_TASK } from "../../sql/turns.ts";
import type { Parking } from "../../turn_records.ts";
import { DUE_TASK_COLUMNS, toDueTask } from "../../sql/task_facts.ts";
import type { DueTask } from "../../transactions/task_rows.ts";
import { releaseDue } from "../../transactions/queue_for_room.ts";
import { SqliteTaskRows } from "./sqlite_task_rows.ts";
import { readClaimed } from "./task_lists.ts";

/** Tasks that wait for their time: those that have not begun, and those that were parked. */
const TIMED = `tasks INDEXED BY tasks_timed
  WHERE state = 'pending' AND readiness IN (${READINESS.waiting}, ${READINESS.delayed})`;

/** Claims the oldest tasks that are ready: marks them running and returns them. */
export function claimTasks(db: Database, limit: number, now: number): Claim {
  // mostly no task waits for its time, and this query is quick
  const isTimed = firstTime(db) !== undefined;
  if (isTimed) releaseDue(new SqliteTaskRows(db), findDue(db, now));
  const ids = db.all(
    `SELECT id FROM tasks INDEXED BY tasks_ready
     WHERE state = 'pending' AND readiness = ${READINESS.ready} ORDER BY id LIMIT ?`,
    limit,
  ).map((row) => text(row, "id"));
  for (const id of ids) {
    db.run(
      `UPDATE tasks SET state = 'running', node = ?, started_at = COALESCE(started_at, ?)
       WHERE id = ?`,
      db.node,
      now,
      id,
    );
  }
  const nextAt = isTimed ? firstTime(db) : undefined;
  return {
    tasks: ids.map((id) => readClaimed(db, id)),
    ...defined({ nextAt }),
  };
}

/** Takes over the running tasks of a node that is gone, each with one restart more. */
export function claimInterrupted(db: Database): ClaimedTask[] {
  const ids = db.all("SELECT id, node FROM tasks WHERE state = 'running' ORDER BY id")
    .filter((row) => isGone(text(row, "node"), db.node))
    .map((row) => text(row, "id"));
  for (const id of ids) {
    db.run("UPDATE tasks SET node = ?, restarts = restarts + 1 WHERE id = ?", db.node, id);
  }
  return ids.map((id) => readClaimed(db, id));
}

/** Puts a running task back in the queue, with these records of its steps; it keeps its room. */
export function requeueTask(
  db: Database,
  taskId: string,
  steps: readonly StepRecord[] = [],
): void {
  const changed = db.run(
    "UPDATE tasks SET state = 'pending' WHERE id = ? AND state = 'running'",
    taskId,
  );
  if (changed === 0) return;
  const rows = new SqliteTaskRows(db);
  for (const step of steps) rows.saveStep(taskId, step);
}

/** Puts a running task back until a step of it gets its turn, or until its time. */
export function parkTask(db: Database, taskId: string, parking: Parking): void {
  const task = db.get(
    `SELECT cancel_reason, ${TURNS_OF_TASK} FROM tasks WHERE id = ? AND state = 'running'`,
    taskId,
  );
  if (task === undefined) return;
  const rows = new SqliteTaskRows(db);
  for (const step of parking.steps) rows.saveStep(taskId, step);
  const readiness = decidePark(toParked(task, parking));
  db.run(
    `UPDATE tasks SET state = 'pending', readiness = ?, run_at = ?, waiting_since = ? WHERE id = ?`,
    READINESS[readiness],
    parking.until ?? null,
    parking.now,
    taskId,
  );
}

/** Most due tasks that one claim handles, so that other calls do not wait long. */
const DUE_BATCH = 500;

/** When the next task is due; `undefined` when none waits for its time. */
function firstTime(db: Database): number | undefined {
  const at = db.get(`SELECT min(run_at) AS at FROM ${TIMED}`)?.["at"];
  return typeof at === "number" ? at : undefined;
}

/** Tasks whose time has come. */
function findDue(db: Database, now: number): DueTask[] {
  const { runAtUpTo, createdAfter } = whatIsDue(now);
  return [
    ...db.all(
      `SELECT ${DUE_TASK_COLUMNS} FROM ${TIMED} AND run_at <= ? ORDER BY run_at LIMIT ?`,
      runAtUpTo,
      DUE_BATCH,
    ),
    ...db.all(
      `SELECT ${DUE_TASK_COLUMNS} FROM tasks INDEXED BY tasks_timed_by_age
       WHERE state = 'pending' AND readiness = ${READINESS.delayed} AND created_at > ?
       ORDER BY created_at LIMIT ?`,
      createdAfter,
      DUE_BATCH,
    ),
    ...db.all(
      `SELECT ${DUE_TASK_COLUMNS} FROM tasks INDEXED BY tasks_waiting
       WHERE state = 'pending' AND readiness = ${READINESS.waiting} AND waiting_since > ?
       ORDER BY waiting_since LIMIT ?`,
      createdAfter,
      DUE_BATCH,
    ),
  ].map(toDueTask);
}
