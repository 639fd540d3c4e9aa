/**
 * Git worktrees of tasks: each on a branch named after its task. Everything that git is told goes
 * in as `"$1"`, `"$2"`, …; nothing here decides when a worktree comes and goes.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { runTool, type ToolHost, type ToolResult, whatItSaid } from "./run_tool.ts";

/** A git repository, as seen from a directory in it. */
export interface Repository {
  /** Directory that all of its worktrees share; names the repository. */
  readonly common: string;
  /** Where in the working tree the directory is: empty, or with a slash at its end. */
  readonly prefix: string;
}

/** What tools are run with. */
export interface Tools {
  /** Runs them. */
  readonly host: ToolHost;
  /** Ends them; what they were to do has failed then. */
  readonly signal?: AbortSignal;
  /** Task they work for. */
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
 * Nothing of a repository runs that is no part of making a working tree: its hooks and its file
 * monitor are programs that any task in it may have put there, and no step of this one. Filters
 * stay: without them a working tree has other content.
 */
const GIT = `
git() { command git -c core.hooksPath=/dev/null -c core.fsmonitor=false "$@"; }`;

const PROBE = `${GIT}
cd -- "$1" && git rev-parse --show-prefix && cd -- "$(git rev-parse --git-common-dir)" && pwd -P`;

const HAS_COMMIT = `${GIT}
git -C "$1" rev-parse --verify --quiet 'HEAD^{commit}'`;

/** A branch that is there already has what the task committed before its directory was lost. */
const ADD = `${GIT}
if git -C "$1" show-ref --verify --quiet "refs/heads/$3"; then
  git -C "$1" worktree add --quiet -- "$2" "$3"
else
  git -C "$1" worktree add --quiet -b "$3" -- "$2" HEAD
fi`;

/**
 * What a worktree holds that is nowhere else is kept under a name, then it goes, and its branch
 * with it where every commit of that is on another branch, on a tag or on a remote. Needs no
 * working repository: what is left of a directory goes in any case.
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
        : `git cannot use "${path}": ${whatItSaid(probe)}`,
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
 * Removes a worktree and what was not committed in it. Gives whether its branch stays, because it
 * holds commits that are nowhere else. `common` is the repository, for a worktree that is too
 * broken to tell.
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
  throw new AppError("invalid", `${what}: ${whatItSaid(result)}`);
}
