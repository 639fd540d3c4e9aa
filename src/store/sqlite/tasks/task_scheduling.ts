/**
 * The way of a task through its states: claimed when it is ready, put back, ended. A task that ends
 * promotes those that waited for its room (`waiting_rows.ts`).
 *
 * @module
 */

import type { Cancelled, Claim, ClaimedTask, TaskEnd, TaskState } from "../../task_records.ts";
import { storable, text } from "../engine/columns.ts";
import { isGone } from "../../rules/ownership.ts";
import type { Database } from "../engine/database.ts";
import { WAIT_REASON } from "../engine/wait_reasons.ts";
import { decideCancel } from "../../rules/cancel.ts";
import { whatIsDue } from "../../rules/waiting.ts";
import { noteTaskEnd } from "./task_end_rows.ts";
import { readClaimed, saveStep } from "./task_rows.ts";
import {
  findWaitReason,
  LIMIT_COLUMNS,
  promoteWaiting,
  setWaitReason,
  toLimits,
} from "./waiting_rows.ts";

/** Tasks whose time has not come. */
const TIMED = `tasks INDEXED BY tasks_timed WHERE state = 'pending' AND held = ${WAIT_REASON.time}`;

/** Marks the oldest tasks that are ready running and hands them over. */
export function claimTasks(db: Database, limit: number, now: number): Claim {
  const isTimed = firstTime(db) !== undefined; // mostly none waits for its time, and this is quick
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

/** Takes over the tasks that run for a node that is gone. */
export function claimInterrupted(db: Database): ClaimedTask[] {
  const ids = db.all("SELECT id, node FROM tasks WHERE state = 'running' ORDER BY id")
    .filter((row) => isGone(text(row, "node"), db.node))
    .map((row) => text(row, "id"));
  for (const id of ids) db.run("UPDATE tasks SET node = ? WHERE id = ?", db.node, id);
  return ids.map((id) => readClaimed(db, id));
}

/** Counts one more restart of each task. */
export function countRestarts(db: Database, taskIds: readonly string[]): void {
  for (const id of taskIds) db.run("UPDATE tasks SET restarts = restarts + 1 WHERE id = ?", id);
}

/** Puts a running task back in the queue; it keeps the room it has. */
export function requeueTask(db: Database, taskId: string): void {
  db.run("UPDATE tasks SET state = 'pending' WHERE id = ? AND state = 'running'", taskId);
}

/** Ends a running task, once. */
export function finishTask(db: Database, end: TaskEnd): boolean {
  for (const step of end.steps ?? []) saveStep(db, end.taskId, step);
  return endTask(db, end, "running");
}

/** Ends a task that never started; notes of one that has that it is to end. */
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

/** Steps that a crash or a bug cut off are over with their task. */
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
  const row = db.get(
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

/** Most tasks whose time has come that one claim looks at, so that no other call waits for long. */
const DUE_BATCH = 500;

/** When the time of the next task comes; `undefined` when none waits for its time. */
function firstTime(db: Database): number | undefined {
  const at = db.get(`SELECT min(run_at) AS at FROM ${TIMED}`)?.["at"];
  return typeof at === "number" ? at : undefined;
}

/** Tasks whose time has come wait for room from now on. */
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
    setWaitReason(db, text(row, "id"), { waitsFor: findWaitReason(db, limits), limits });
  }
}
