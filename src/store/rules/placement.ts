/**
 * Where tasks run that several nodes may run, and what becomes of a task that goes on at another
 * node than the one that began it.
 *
 * @module
 */

/** The part of a plan that says where its steps run. */
export interface PlacedWorkspace {
  /** As the manifest has it. */
  readonly path: string;
  /** Absent in plans of older versions, where it is `shared`. */
  readonly isolation?: "shared" | "worktree" | "copy";
}

/**
 * Whether what steps leave in their directory is on the one machine that ran them: in a directory
 * of the task's own, and in one below the data directory, which is another one on each machine. A
 * directory with an absolute path, or below a home, is taken to be the same on all of them. A task
 * whose results stay behind begins anew at another node, and its retry keeps steps on that node
 * only.
 */
export function staysBehind({ path, isolation = "shared" }: PlacedWorkspace): boolean {
  return isolation !== "shared" || !/^(\/|~\/|~$)/.test(path);
}

/** A task, as far as its job depends on it. */
export interface JobState {
  readonly job: "none" | "ready" | "taken";
  readonly planHash?: string;
}

/** The changes to the job of a task that has changed: any number of these. */
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

/** The nodes that the workspace of a plan names, as JSON; most name none. */
export function nodesOf(plan: string): string | undefined {
  if (!plan.includes('"nodes":')) return undefined;
  const { workspace } = JSON.parse(plan) as { workspace?: { nodes?: readonly string[] } };
  return workspace?.nodes && JSON.stringify(workspace.nodes);
}
