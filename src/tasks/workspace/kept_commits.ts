/**
 * Which tasks have commits that are kept in a repository: a file for each beside the worktrees,
 * because the repository does not say whose they are when the task is removed, and the task no
 * longer says in which repository it ran.
 *
 * @module
 */

import { join } from "node:path";
import type { KeptCommits } from "./git_worktree.ts";

/** End of the names of these files; an id of a task stands before it. */
export const KEPT_SUFFIX = ".kept";

const fileOf = (worktrees: string, taskId: string) => join(worktrees, `${taskId}${KEPT_SUFFIX}`);

/** Notes what is kept of a task; removes the note when that is nothing. */
export async function noteKept(
  worktrees: string,
  taskId: string,
  kept: KeptCommits,
): Promise<void> {
  const path = fileOf(worktrees, taskId);
  if (kept.refs.length > 0) return await Deno.writeTextFile(path, JSON.stringify(kept));
  await Deno.remove(path).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
}

/** What is kept of a task; `undefined` when that is nothing. */
export async function findKept(
  worktrees: string,
  taskId: string,
): Promise<KeptCommits | undefined> {
  try {
    return JSON.parse(await Deno.readTextFile(fileOf(worktrees, taskId))) as KeptCommits;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
