/**
 * `svc task retry`: whether an ended task can be retried, with which plan and which limits. The new
 * task waits for room like any other (`readiness.ts`); no policy, rate or debounce rejects it.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { isUnfinished, type RetryOf, type TaskState } from "../task_records.ts";
import type { TaskLimits } from "./limits.ts";
import type { Found } from "./needs.ts";

/** The task to be retried. */
export interface RetriedTask {
  readonly state: TaskState;
  /** Absent when something it needs was missing. */
  readonly planHash?: string;
  /** Whether the task still has the directory it ran in. */
  readonly hasDirectory: boolean;
  /** Limits that the task counted against. */
  readonly limits: TaskLimits;
}

/** Decision on a request to retry. */
export type RetryDecision =
  | { readonly refused: "not_found" | "conflict"; readonly message: string }
  /** The new task runs this plan: that of the old task, or the one that came with the request. */
  | { readonly planHash: string; readonly limits: TaskLimits };

/** Decides on a retry of task `of`. */
export function decideRetry(
  { of, planned, keepDirectory }: Pick<RetryOf, "of" | "planned" | "keepDirectory">,
  old: Found<RetriedTask>,
): RetryDecision {
  if (old === "none") return { refused: "not_found", message: `No task "${of}"` };
  if (isUnfinished(old.state)) {
    return conflict(`Task ${of} has not ended: cancel it, or wait for it`);
  }
  if (keepDirectory && !old.hasDirectory) {
    return conflict(`Another retry of task ${of} runs in its directory: wait for it, or cancel it`);
  }
  if (planned !== undefined) {
    return { planHash: planned.plan.hash, limits: inWorkspaceOf(planned, old.limits) };
  }
  if (old.planHash === undefined) {
    return conflict(`Task ${of} could never run: apply what was missing first`);
  }
  return { planHash: old.planHash, limits: old.limits };
}

function conflict(message: string): RetryDecision {
  return { refused: "conflict", message };
}

/** The group is that of the old task; the workspace may have changed since. */
function inWorkspaceOf(
  { workspace: name, workspaceMax }: NonNullable<RetryOf["planned"]>,
  { group, workspace: { project } }: TaskLimits,
): TaskLimits {
  const max = workspaceMax === undefined ? {} : { max: workspaceMax };
  return { ...defined({ group }), workspace: { project, name, ...max } };
}
