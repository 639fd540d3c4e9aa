/**
 * State changes of tasks: claim, requeue, end. A task that ends promotes those that waited for its
 * room (`waiting_rows.ts`).
 *
 * @module
 */

import type { Cancelled, Claim, ClaimedTask, TaskEnd, TaskState } from "../../task_records.ts";
import { storable, text } from "../../sql/columns.ts";
import { isGone } from "../../rules/ownership.ts";
import type { Database } from "../engine/database.ts";
import { WAIT_REASON } from "../../sql/wait_reasons.ts";
import { decideCancel } from "../../rules/cancel.ts";
import { whatIsDue } from "../../rules/waiting.ts";
import { noteTaskEnd } from "./task_end_rows.ts";
import { readClaimed, saveStep } from "./task_rows.ts";
import { findWait, LIMIT_COLUMNS, promoteWaiting, setWait, toLimits } from "./waiting_rows.ts";

/** Tasks that wait for their time. */
const TIMED = `tasks INDEXED BY tasks_timed WHERE state = 'pending' AND held = ${WAIT_REASON.time}`;

/** Claims the oldest tasks that are ready: marks them running and returns them. */
export function claimTasks(db: Database, limit: number, now: number): Claim {
  // mostly no task waits for its time, and this query is quick
  const isTimed = firstTime(db) !== undefined;
  if (isTimed) releaseDue(db, now);
  const ids = db.all(
    `SELECT id FROM tasks INDEXED BY tasks_ready
     WHERE state = 'pending' AND held = ${WAIT_REASON.none} ORDER BY id LIMIT ?`,
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
    ...(nextAt === undefined ? {} : { nextAt }),
  };
}

/** Takes over the running tasks of a node that is gone. */
export function claimInterrupted(db: Database): ClaimedTask[] {
  const ids = db.all("SELECT id, node FROM tasks WHERE state = 'running' ORDER BY id")
    .filter((row) => isGone(text(row, "node"), db.node))
    .map((row) => text(row, "id"));
  for (const id of ids) db.run("UPDATE tasks SET node = ? WHERE id = ?", db.node, id);
  return ids.map((id) => readClaimed(db, id));
}

/** Adds one restart to each task. */
export function countRestarts(db: Database, taskIds: readonly string[]): void {
  for (const id of taskIds) db.run("UPDATE tasks SET restarts = restarts + 1 WHERE id = ?", id);
}

/** Puts a running task back in the queue; it keeps its room. */
export function requeueTask(db: Database, taskId: string): void {
  db.run("UPDATE tasks SET state = 'pending' WHERE id = ? AND state = 'running'", taskId);
}

/** Ends a running task, once. */
export function finishTask(db: Database, end: TaskEnd): boolean {
  for (const step of end.steps ?? []) saveStep(db, end.taskId, step);
  return endTask(db, end, "running");
}

/** Ends a task that never started; marks a started one to be stopped. */
export function cancelTask(
  db: Database,
  taskId: string,
  end: { reason: string; now: number; followed?: boolean },
): Cancelled {
  const row = db.get("SELECT state, started_at FROM tasks WHERE id = ?", taskId);
  const decision = decideCancel(
    row === undefined
      ? "none"
      : { state: text(row, "state") as TaskState, hasStarted: row["started_at"] !== null },
  );
  if (decision === "stopping") {
    db.run(
      "UPDATE tasks SET cancel_reason = COALESCE(cancel_reason, ?) WHERE id = ?",
      storable(end.reason),
      taskId,
    );
  }
  if (decision === "cancelled") endTask(db, { ...end, taskId, state: "cancelled" }, "pending");
  return decision;
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

/** Ends a task that is in state `from`, and promotes those that waited for its room. */
function endTask(db: Database, end: TaskEnd, from: "pending" | "running"): boolean {
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
  if (row === undefined) return false;
  if (end.state !== "succeeded") endRunningSteps(db, end);
  if (end.followed === true) noteTaskEnd(db, end.taskId);
  promoteWaiting(db, toLimits(row));
  return true;
}

/** Most due tasks that one claim handles, so that other calls do not wait long. */
const DUE_BATCH = 500;

/** When the next task is due; `undefined` when none waits for its time. */
function firstTime(db: Database): number | undefined {
  const at = db.get(`SELECT min(run_at) AS at FROM ${TIMED}`)?.["at"];
  return typeof at === "number" ? at : undefined;
}

/** Makes tasks whose time has come wait for room. */
function releaseDue(db: Database, now: number): void {
  const columns = `id, ${LIMIT_COLUMNS}`;
  const { runAtUpTo, createdAfter } = whatIsDue(now);
  const due = [
    ...db.all(
      `SELECT ${columns} FROM ${TIMED} AND run_at <= ? ORDER BY run_at LIMIT ?`,
      runAtUpTo,
      DUE_BATCH,
    ),
    ...db.all(
      `SELECT ${columns} FROM tasks INDEXED BY tasks_timed_by_age
       WHERE state = 'pending' AND held = ${WAIT_REASON.time} AND created_at > ?
       ORDER BY created_at LIMIT ?`,
      createdAfter,
      DUE_BATCH,
    ),
  ];
  for (const row of due) {
    const limits = toLimits(row);
    setWait(db, text(row, "id"), findWait(db, limits), limits);
  }
}
