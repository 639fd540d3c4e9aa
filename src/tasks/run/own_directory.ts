/**
 * The directory in which the steps of a task run: found or made before the first of them, and
 * removed after a success where it is the task's own.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { CancellationScope } from "../cancellation_scope.ts";
import { isDirectory } from "../workspace/directory_fault.ts";
import { taskLimitMs } from "../time_limits.ts";
import { retryInRun, type TaskRun } from "./task_context.ts";

/**
 * Least time for removing the directory of a task: its `finally` may have used up the timeout, or it
 * is cancelled.
 */
const TIDY_MS = 10_000;

/**
 * Finds or makes the directory in which the steps run, and stores the path of one that is the task's
 * own.
 */
export async function enterDirectory(
  run: TaskRun,
  cancellation: CancellationScope,
): Promise<string> {
  const { claimed: { task }, plan: { workspace }, host } = run;
  if (task.directory !== "" && await isDirectory(task.directory)) return task.directory;
  if (task.directory !== "" && run.steps.records.some(({ state }) => state === "succeeded")) {
    const gone = `The directory "${task.directory}", in which finished steps ran, is gone`;
    throw new AppError("invalid", `${gone}: retry the task`);
  }
  const user = { taskId: task.id, workspace: task.workspace, plan: workspace };
  const directory = await host.directories.make(user, cancellation).catch((error) => {
    if (cancellation.why !== "timeout" || !(error instanceof AppError)) throw error;
    const limit = `the timeout of ${(taskLimitMs(run.plan, host.timeLimits) ?? 0) / 1000} s`;
    throw new AppError("invalid", `${limit} ran out while its ${kindOf(run)} was created`);
  });
  if (directory === workspace.path) return directory;
  await retryInRun(run, () => host.store.setTaskDirectory(task.id, directory));
  return directory;
}

/**
 * Removes the directory that is the task's own, if it has one, after a success. It has as long as the
 * timeout of the task leaves, which began at `since`.
 *
 * @returns Why it could not be removed; empty when it is removed.
 */
export async function removeOwnDirectory(
  directory: string,
  run: TaskRun,
  since: number,
): Promise<string> {
  const { claimed: { task }, plan: { workspace }, host, signals } = run;
  const { stop, cancel } = signals;
  if (directory === "" || directory === workspace.path) return "";
  using cancellation = new CancellationScope({ stop });
  const limitMs = taskLimitMs(run.plan, host.timeLimits) ?? Infinity;
  const leftMs = since + limitMs - host.clock.now();
  if (leftMs < Infinity) cancellation.endAfter(Math.max(leftMs, TIDY_MS), host.clock);
  // The task has succeeded, and its user does not want to wait: a removal that cannot end soon ends.
  cancellation.endAfterAbort(cancel, TIDY_MS, host.clock);
  const how = { from: workspace.path, signal: cancellation.signal };
  const reason = await host.directories.remove(task.id, directory, how).catch((error) => {
    if (stop.aborted || !(error instanceof AppError)) throw error;
    // The directory stays recorded, and is removed together with the task.
    return cancellation.why === undefined
      ? error.message
      : `its ${kindOf(run)} was not removed in time`;
  });
  if (!await isDirectory(directory)) {
    await retryInRun(run, () => host.store.setTaskDirectory(task.id, ""));
  }
  return reason;
}

/** The kind of directory that is the task's own, as messages call it. */
function kindOf({ plan }: TaskRun): string {
  return plan.workspace.isolation === "worktree" ? "worktree" : "copy";
}
