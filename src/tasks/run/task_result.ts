/**
 * The result of one run of a task.
 *
 * @module
 */

import type { StepRecord } from "../../store/task_records.ts";

/** The result of a run; an `interrupted` task goes back to the queue. */
export interface TaskResult {
  readonly state: "succeeded" | "failed" | "cancelled" | "interrupted";
  /** A sentence for users, without its end; may be empty. */
  readonly reason: string;
  /** Records of steps that have to be stored together with the end of the task. */
  readonly steps?: readonly StepRecord[];
  /** What the machine is short of, if the `interrupted` task should not begin again at once. */
  readonly shortage?: string;
}
