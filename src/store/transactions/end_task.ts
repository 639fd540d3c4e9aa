/**
 * The end of a task, by a worker or by a request to cancel it (`rules/cancel.ts`). It promotes the
 * tasks that are queued for its room.
 *
 * @module
 */

import { decideCancel } from "../rules/cancel.ts";
import type { CancelResult, TaskEnd } from "../task_records.ts";
import type { TaskRows } from "./task_rows.ts";
import { promoteQueued } from "./queue_for_room.ts";

/** Ends a running task, once. */
export function finishTask(rows: TaskRows, end: TaskEnd): boolean {
  return endTask(rows, end, "running");
}

/**
 * Ends a task that never started; marks a started one to be stopped. One that is parked gets a worker
 * for that.
 */
export function cancelTask(
  rows: TaskRows,
  taskId: string,
  end: Pick<TaskEnd, "reason" | "now" | "followed">,
): CancelResult {
  const task = rows.findTask(taskId);
  const decision = decideCancel(task);
  if (decision === "stopping") {
    rows.requestCancel(taskId, end.reason);
    if (task !== "none" && task.readiness === "waiting") rows.setReadiness(taskId, "ready");
  }
  if (decision === "cancelled") endTask(rows, { ...end, taskId, state: "cancelled" }, "pending");
  return decision;
}

function endTask(rows: TaskRows, end: TaskEnd, from: "pending" | "running"): boolean {
  const limits = rows.endTask(end, from);
  if (limits === "none") return false;
  if (end.followed === true) rows.noteTaskEnd(end.taskId);
  promoteQueued(rows, limits);
  return true;
}
