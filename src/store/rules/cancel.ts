/**
 * What a request to cancel does to a task.
 *
 * @module
 */

import type { Cancelled, TaskState } from "../task_records.ts";
import type { Found } from "./needs.ts";

/** A task that is to be cancelled. */
export interface CancelledTask {
  /** Where it stands. */
  readonly state: TaskState;
  /** Whether a worker has ever begun with it. */
  readonly hasStarted: boolean;
}

/**
 * One that never started ends at once. One that has is told to, also while it waits to go on after
 * an interruption: its `finally` steps have to run. What has ended, or is not there, stays as it
 * is.
 */
export function decideCancel(task: Found<CancelledTask>): Cancelled {
  if (task === "none" || (task.state !== "pending" && task.state !== "running")) return "ended";
  return task.hasStarted ? "stopping" : "cancelled";
}
