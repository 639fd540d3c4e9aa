/**
 * How a run of a task ended.
 *
 * @module
 */

import type { StepRecord } from "../../store/task_records.ts";

/** How a run ended; an `interrupted` task goes back to the queue. */
export interface TaskResult {
  readonly state: "succeeded" | "failed" | "cancelled" | "interrupted";
  /** Empty when there is nothing to say. */
  readonly reason: string;
  /** Records of steps that are not stored yet: they have to be stored with the end of the task. */
  readonly steps?: readonly StepRecord[];
  /** What the machine is short of, where an `interrupted` task is to be begun again only later. */
  readonly shortage?: string;
}
