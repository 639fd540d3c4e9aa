/**
 * Where tasks run that several nodes may run.
 *
 * @module
 */

/** A task, as far as its job depends on it. */
export interface JobState {
  readonly job: "none" | "ready" | "taken";
  readonly planHash?: string;
}

/** What is done to the job of a task that has changed: several of these, or nothing. */
export interface JobActions {
  readonly end: boolean;
  readonly putBack: boolean;
  readonly add: boolean;
}

/**
 * What a change of a task means for its job. The nodes that may take it are those of its plan: one
 * that got another plan while it was ready gets another job.
 */
export function jobActions(before: JobState, after: JobState): JobActions {
  const isPlacedAnew = before.job === "ready" && after.job === "ready" &&
    before.planHash !== after.planHash;
  return {
    end: (before.job !== "none" && after.job === "none") || isPlacedAnew,
    putBack: before.job === "taken" && after.job === "ready",
    add: (before.job === "none" && after.job === "ready") || isPlacedAnew,
  };
}
