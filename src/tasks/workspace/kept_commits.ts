/**
 * Which repository the worktree or the kept commits of a task are in: a file for each beside the
 * worktrees. The worktree itself names its repository, too, in a file that steps may write; the
 * repository does not say whose the commits are; and neither does the task when it is removed.
 *
 * @module
 */

import { join } from "node:path";
import { isThere, writeDurably } from "../../base/durable_files.ts";
import { readRegularText } from "../../base/regular_file.ts";
import type { KeptCommits } from "./git_worktree.ts";

/** End of the names of these files; an id of a task stands before it. */
export const KEPT_SUFFIX = ".kept";

const fileOf = (worktrees: string, taskId: string) => join(worktrees, `${taskId}${KEPT_SUFFIX}`);

/** Notes the repository of a task, before its worktree is made. */
export async function noteRepository(
  worktrees: string,
  taskId: string,
  kept: KeptCommits,
): Promise<void> {
  await writeDurably(fileOf(worktrees, taskId), JSON.stringify(kept));
}

/** Notes what is kept of a task; removes the note where that is nothing and its worktree is gone. */
export async function noteKept(
  worktrees: string,
  taskId: string,
  kept: KeptCommits,
): Promise<void> {
  if (kept.refs.length > 0 || await isThere(join(worktrees, taskId))) {
    return await noteRepository(worktrees, taskId, kept);
  }
  await Deno.remove(fileOf(worktrees, taskId)).catch(ignoreMissing);
}

/** What is noted of a task; `undefined` when it has neither a worktree here nor commits. */
export function findKept(worktrees: string, taskId: string): KeptCommits | undefined {
  try {
    return JSON.parse(readRegularText(fileOf(worktrees, taskId))) as KeptCommits;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}
