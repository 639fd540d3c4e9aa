/**
 * Git worktrees of tasks, each on a branch named after its task. Every value reaches git as `"$1"`,
 * `"$2"`, …. When a worktree is made or removed is decided elsewhere.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { runTool, toolError, type ToolHost, type ToolResult } from "./run_tool.ts";

/** A git repository, as seen from a directory in it. */
export interface Repository {
  /** Directory that all of its worktrees share; identifies the repository. */
  readonly common: string;
  /** Path of the directory in the working tree: empty, or with a slash at its end. */
  readonly prefix: string;
}

/** How tools are run. */
export interface Tools {
  readonly host: ToolHost;
  /** Ends the tools, whose work then counts as failed. */
  readonly signal?: AbortSignal;
  /** Task for which they run. */
  readonly taskId?: string;
}

/** A worktree that is to be made or removed. */
export interface Worktree {
  /** Absolute path. */
  readonly path: string;
  readonly branch: string;
}

/** Branch of the worktree in a directory of that name: the id of the task it was made for. */
export function branchOf(name: string): string {
  return `svc/${name}`;
}

/**
 * Runs no program of the repository that is not needed for a working tree: any task in it may have
 * installed its hooks and its file monitor. Filters stay, because a working tree without them has
 * other content.
 */
const GIT = `
git() { command git -c core.hooksPath=/dev/null -c core.fsmonitor=false "$@"; }`;

const PROBE = `${GIT}
cd -- "$1" && git rev-parse --show-prefix && cd -- "$(git rev-parse --git-common-dir)" && pwd -P`;

const HAS_COMMIT = `${GIT}
git -C "$1" rev-parse --verify --quiet 'HEAD^{commit}'`;

/** An existing branch holds what the task committed before its directory was lost. */
const ADD = `${GIT}
if git -C "$1" show-ref --verify --quiet "refs/heads/$3"; then
  git -C "$1" worktree add --quiet -- "$2" "$3"
else
  git -C "$1" worktree add --quiet -b "$3" -- "$2" HEAD
fi`;

/**
 * Saves content of a worktree that exists nowhere else under a name, then removes the worktree, and
 * its branch if every commit of it is on another branch, on a tag or on a remote. It works without
 * an intact repository: the directory is removed in any case.
 */
const REMOVE = `${GIT}
dir=$1 branch=$2 common=
if [ -e "$dir/.git" ]; then common=$(git -C "$dir" rev-parse --git-common-dir 2>/dev/null); fi
[ -n "$common" ] || common=$3
if [ -e "$dir/.git" ] && ! git -C "$dir" symbolic-ref --quiet HEAD >/dev/null 2>&1; then
  own=$(git -C "$dir" rev-list --max-count=1 HEAD --not --branches --tags --remotes 2>/dev/null)
  [ -z "$own" ] || git -C "$dir" branch --force -- "$branch-detached" HEAD || exit 1
fi
git --git-dir="$common" worktree remove --force --force -- "$dir" >/dev/null 2>&1
if [ -e "$dir" ]; then
  rm -rf -- "$dir" 2>/dev/null || { chmod -R u+rwX -- "$dir"; rm -rf -- "$dir"; } || exit 1
fi
[ -n "$common" ] && [ -d "$common" ] || exit 0
git --git-dir="$common" worktree prune
rm -f -- "$common/refs/heads/$branch.lock" # of a git that was killed
git --git-dir="$common" show-ref --verify --quiet "refs/heads/$branch" || exit 0
own=$(git --git-dir="$common" rev-list --max-count=1 "refs/heads/$branch" \\
  --not HEAD --exclude="$branch" --branches --tags --remotes) || exit 0
if [ -n "$own" ]; then echo kept; else git --git-dir="$common" branch --quiet -D -- "$branch"; fi`;

/**
 * The repository around `path`.
 *
 * @throws {AppError} `invalid` with what to do, when there is none or it has no commit.
 */
export async function findRepository(path: string, tools: Tools): Promise<Repository> {
  const probe = await run(PROBE, [path], tools);
  if (probe.code === 127) throw new AppError("invalid", "git is not installed, install it");
  if (probe.code !== 0) {
    const none = /not a git repository/.test(probe.err);
    throw new AppError(
      "invalid",
      none
        ? `"${path}" is not a git repository: run "git init" there, or set "isolation: copy"`
        : `git cannot use "${path}": ${toolError(probe)}`,
    );
  }
  const commit = await run(HAS_COMMIT, [path], tools);
  if (commit.code !== 0) {
    throw new AppError("invalid", `The git repository "${path}" has no commit yet: make one`);
  }
  const [prefix = "", common = ""] = probe.out.split("\n");
  return { common, prefix };
}

/**
 * Makes a worktree of the commit that is checked out at `from`.
 *
 * @throws {AppError} `invalid` when git refuses.
 */
export async function addWorktree(
  from: string,
  worktree: Worktree,
  tools: Tools,
): Promise<void> {
  const added = await run(ADD, [from, worktree.path, worktree.branch], tools);
  check(added, "git cannot make a worktree");
}

/**
 * Removes a worktree with its uncommitted changes. Returns whether its branch stays, because it
 * holds commits that exist nowhere else. `common` is the repository, for a worktree that is too
 * broken to name it.
 *
 * @throws {AppError} `invalid` when something of it cannot be removed.
 */
export async function removeWorktree(
  worktree: Worktree,
  { common = "", ...tools }: Tools & { readonly common?: string },
): Promise<{ readonly branchStays: boolean }> {
  const removed = await run(REMOVE, [worktree.path, worktree.branch, common], tools);
  check(removed, `The worktree "${worktree.path}" cannot be removed`);
  return { branchStays: removed.out.trim() === "kept" };
}

function run(script: string, args: readonly string[], tools: Tools): Promise<ToolResult> {
  return runTool({ script, args, signal: tools.signal, taskId: tools.taskId }, tools.host);
}

function check(result: ToolResult, what: string): void {
  if (result.code === 0) return;
  throw new AppError("invalid", `${what}: ${toolError(result)}`);
}
