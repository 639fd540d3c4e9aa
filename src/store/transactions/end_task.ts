/**
 * The end of a task, by a worker or by a request to cancel it (`rules/cancel.ts`). It promotes the
 * tasks that are queued for its room.
 *
 * @module
 */

import { decideCancel } from "../rules/cancel.ts";
import type { CancelResult, TaskEnd, TaskFinish } from "../task_records.ts";
import type { TaskRows } from "./task_rows.ts";
import { wakeTask } from "./park_task.ts";
import { promoteQueued } from "./queue_for_room.ts";

/** Ends a running task, once. */
export function finishTask(rows: TaskRows, end: TaskEnd): TaskFinish {
  return endTask(rows, end, "running");
}

/**
 * Ends a task that never started; marks a started one to be stopped. One that waits gets a worker for
 * that, and nothing answers its waits any more.
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
    rows.closeWaits(taskId, end.now);
    if (task !== "none" && task.state === "waiting") {
      wakeTask(rows, { id: taskId, ...task }, end.now);
    }
  }
  if (decision === "cancelled") endTask(rows, { ...end, taskId, state: "cancelled" }, "pending");
  return decision;
}

function endTask(rows: TaskRows, end: TaskEnd, from: "pending" | "running"): TaskFinish {
  const ended = rows.endTask(end, from);
  if (ended === "none") return false;
  if (end.mayHaveWaits === true) rows.closeWaits(end.taskId, end.now);
  // Who cancels a task means its messages, too.
  const leavesUnread = ended.hasUnread && end.state !== "cancelled";
  if (end.followed === true || leavesUnread) rows.noteTaskEnd(end.taskId);
  promoteQueued(rows, ended.limits);
  return leavesUnread ? "unread" : true;
}
