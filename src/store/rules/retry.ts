/**
 * `svc task retry`: whether an ended task can be done again, with which plan, and what it takes
 * room in. The new task waits for room like any other (`waiting.ts`); no policy, rate or debounce
 * turns it away.
 *
 * @module
 */

import type { RetryOf, TaskState } from "../task_records.ts";
import type { TaskLimits } from "./limits.ts";
import type { Found } from "./needs.ts";

/** A task that is to be done again. */
export interface RetriedTask {
  /** Where it stands. */
  readonly state: TaskState;
  /** Its plan; absent when something was missing for it. */
  readonly planHash?: string;
  /** Whether it still has the directory it ran in. */
  readonly hasDirectory: boolean;
  /** What it took room in. */
  readonly limits: TaskLimits;
}

/** What becomes of a request to retry. */
export type RetryDecision =
  | { readonly refused: "not_found" | "conflict"; readonly message: string }
  /** The new task runs this plan, that of the old one or the one that came with the request. */
  | { readonly planHash: string; readonly limits: TaskLimits };

/** Decides on a retry of task `of`. */
export function decideRetry(
  { of, planned, keepDirectory }: Pick<RetryOf, "of" | "planned" | "keepDirectory">,
  old: Found<RetriedTask>,
): RetryDecision {
  if (old === "none") return { refused: "not_found", message: `There is no task ${of}` };
  if (old.state === "pending" || old.state === "running") {
    return conflict(`Task ${of} has not ended: cancel it, or wait for it`);
  }
  if (keepDirectory && !old.hasDirectory) {
    return conflict(`Another retry of task ${of} goes on in its directory`);
  }
  if (planned !== undefined) {
    return { planHash: planned.plan.hash, limits: inWorkspaceOf(planned, old.limits) };
  }
  if (old.planHash === undefined) {
    return conflict(`Task ${of} never could run: apply what it misses first`);
  }
  return { planHash: old.planHash, limits: old.limits };
}

function conflict(message: string): RetryDecision {
  return { refused: "conflict", message };
}

/** The group stays that of the old task; the workspace may be another by now. */
function inWorkspaceOf(
  { workspace: name, workspaceMax }: NonNullable<RetryOf["planned"]>,
  { group, workspace: { project } }: TaskLimits,
): TaskLimits {
  const max = workspaceMax === undefined ? {} : { max: workspaceMax };
  return { ...(group === undefined ? {} : { group }), workspace: { project, name, ...max } };
}
