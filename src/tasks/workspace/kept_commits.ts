/**
 * Notes about the worktrees and the kept commits of tasks: a file for each task, beside the worktrees,
 * names the repository and the refs. The worktree names its repository, too, but in a file that steps can
 * change; and after the task is removed, no other record leads from it to its commits.
 *
 * @module
 */

import { join } from "node:path";
import { defined } from "../../base/defined.ts";
import { isThere, writeDurably } from "../../base/durable_files.ts";
import { readRegularText } from "../../base/regular_file.ts";
import type { KeptCommits } from "./git_worktree.ts";

/** The end of the names of these files, after the id of the task. */
export const KEPT_SUFFIX = ".kept";

const fileOf = (worktrees: string, taskId: string) => join(worktrees, `${taskId}${KEPT_SUFFIX}`);

/** What is noted of a task. */
interface Note extends KeptCommits {
  /** The id of the commit at which its worktree started; no step can change what is noted here. */
  readonly start?: string;
}

/** Writes the note of a task, before its worktree is made; the start that an earlier note has stays. */
export async function noteRepository(worktrees: string, taskId: string, note: Note): Promise<void> {
  const start = note.start ?? findKept(worktrees, taskId)?.start;
  await writeDurably(fileOf(worktrees, taskId), JSON.stringify({ ...note, ...defined({ start }) }));
}

/** Writes the note of a task; removes it if no commits are kept and the worktree does not exist. */
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

/** The note of a task; `undefined` if it has neither a worktree on this machine nor kept commits. */
export function findKept(worktrees: string, taskId: string): Note | undefined {
  try {
    return JSON.parse(readRegularText(fileOf(worktrees, taskId))) as Note;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}
