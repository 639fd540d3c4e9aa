/**
 * What a request to cancel does to a task.
 *
 * @module
 */

import { type CancelResult, isUnfinished, type TaskState } from "../task_records.ts";
import type { Found } from "./needs.ts";

/** A task that is to be cancelled. */
export interface CancelledTask {
  readonly state: TaskState;
  /** Whether a worker has ever started it. */
  readonly hasStarted: boolean;
}

/**
 * A task that never started ends at once. A started one is marked to be stopped, also while it
 * waits in its midst or to continue after an interruption, because its `finally` steps have to run. A
 * task that has ended or does not exist stays as it is.
 */
export function decideCancel(task: Found<CancelledTask>): CancelResult {
  if (task === "none" || !isUnfinished(task.state)) return "ended";
  return task.hasStarted ? "stopping" : "cancelled";
}
