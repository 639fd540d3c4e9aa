/**
 * The calls of git that make and remove worktrees, each on a branch named after its task. All values
 * reach git as `"$1"`, `"$2"`, …. `task_worktrees.ts` decides when they are made and removed.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { runTool, toolError, type ToolHost, type ToolResult } from "./run_tool.ts";

/** A git repository, as seen from a directory in it. */
export interface Repository {
  /** The git directory that all worktrees share, which identifies the repository. */
  readonly common: string;
  /** The path of the directory within the working tree: empty, or with a slash at its end. */
  readonly prefix: string;
}

/** How the programs of git are run. */
export interface Tools {
  readonly host: ToolHost;
  /** Ends the programs; their work then counts as failed. */
  readonly signal?: AbortSignal;
  /** The task for which they run. */
  readonly taskId?: string;
}

/** The path and the branch of a worktree. */
export interface Worktree {
  /** The absolute path of its directory. */
  readonly path: string;
  readonly branch: string;
}

/** Commits of a task, in the repository of its worktree. */
export interface KeptCommits {
  /** Git directory of the repository. */
  readonly repository: string;
  /** The refs that hold the commits; may be empty. */
  readonly refs: readonly string[];
}

/** The branch of the worktree in the directory `name`, which is the id of the task it was made for. */
export function branchOf(name: string): string {
  return `svc/${name}`;
}

/**
 * The ref that holds commits of a task when its worktree is gone. It is no branch, so that the repository
 * has only its user's branches. A second ref, with `-2` behind it, holds commits on the branch of the
 * task that the first does not reach.
 */
export function keptRef(taskId: string): string {
  return `refs/svc/tasks/${taskId}`;
}

/**
 * Keeps git from running programs of the repository that a working tree does not need. Any task in it
 * may have installed hooks and a file monitor, or named a remote from which git fetches missing objects
 * with any program. So no transport is allowed, by the environment, because the configuration can
 * overrule `protocol.allow`. Filters stay, because without them a working tree has other content.
 */
export const GIT = `
export GIT_ALLOW_PROTOCOL=none GIT_NO_LAZY_FETCH=1
git() { command git -c core.hooksPath=/dev/null -c core.fsmonitor=false "$@"; }
# Turns off the hooks that the configuration of a repository defines (git 2.54), by their names: an
# event cannot be turned off where a hook bears its name.
without_hooks() {
  count=0
  while IFS= read -r key; do
    [ -n "$key" ] || continue
    export "GIT_CONFIG_KEY_$count=\${key%.event}.enabled" "GIT_CONFIG_VALUE_$count=false"
    count=$((count + 1))
  done <<END
$(git "$@" config --name-only --get-regexp '^hook\\..*\\.event$' 2>/dev/null)
END
  export GIT_CONFIG_COUNT=$count
}`;

const PROBE = `${GIT}
cd -- "$1" && git rev-parse --show-prefix && cd -- "$(git rev-parse --git-common-dir)" && pwd -P`;

const HAS_COMMIT = `${GIT}
git -C "$1" rev-parse --verify --quiet 'HEAD^{commit}'`;

/**
 * Starts at the branch or the kept ref of the task, if there is one: it holds earlier commits of the task.
 * Prints the commit at which it starts anew.
 */
const ADD = `${GIT}
without_hooks -C "$1"
if git -C "$1" show-ref --verify --quiet "refs/heads/$3"; then
  git -C "$1" worktree add --quiet -- "$2" "$3"
else
  begin=
  if git -C "$1" show-ref --verify --quiet "$5"; then start=$5
  else begin=$(git -C "$1" rev-parse --verify "$4^{commit}") && start=$begin || exit 1
  fi
  git -C "$1" worktree add --quiet -b "$3" -- "$2" "$start" && echo "$begin"
fi`;

/**
 * Removes a worktree and its branch. If a ref is given, it first keeps commits under it that exist
 * nowhere else: on no other branch, tag or remote, and not in `FETCH_HEAD`, whose commits are in another
 * repository. The directory is removed even if the repository is damaged. Prints the refs under which
 * commits are kept.
 *
 * git does not look for its repository from inside the worktree, where a step may have put the name of
 * another one. The checked out commit is read from the repository of which the worktree was made.
 */
const REMOVE = `${GIT}
dir=$1 branch=$2 common=$3 ref=$4 elsewhere= saved= worktree=worktrees/\${1##*/}
without_hooks --git-dir="$common"
bare() { git --git-dir="$common" "$@"; }
# Succeeds when a commit below $1 is nowhere else, and also when that cannot be told.
own() {
  found=$(bare rev-list --max-count=1 --ignore-missing "$1" --not --exclude="$branch" \
    --branches --tags --remotes $elsewhere 2>/dev/null) || return 0
  [ -n "$found" ]
}
keep() {
  [ -n "$1" ] && own "$1" || return 0
  rm -f -- "$common/$ref$saved.lock" # of a git that was killed
  bare update-ref "$ref$saved" "$1" || exit 1
  elsewhere="$elsewhere $1" saved=-2
}
if [ -n "$ref" ] && [ -n "$common" ] && [ -d "$common" ]; then
  for file in "$common/$worktree/FETCH_HEAD" "$common/FETCH_HEAD"; do
    [ ! -f "$file" ] ||
      elsewhere="$elsewhere $(head -c 1000000 -- "$file" | cut -f 1 | grep -xE '[0-9a-f]{40}|[0-9a-f]{64}')"
  done
  head=$(bare rev-parse --verify --quiet "$worktree/HEAD^{commit}")
  if [ -n "$head" ]; then
    for old in "$ref" "$ref-2"; do bare update-ref -d "$old" 2>/dev/null; done
  fi
  elsewhere="$elsewhere $(bare rev-parse --verify --quiet 'HEAD^{commit}')"
  keep "$head"
  keep "$(bare rev-parse --verify --quiet "refs/heads/$branch^{commit}")"
fi
[ -z "$common" ] || bare worktree remove --force --force -- "$dir" >/dev/null 2>&1
# What a sandbox had of the repository.
rm -rf -- "$dir.git" 2>/dev/null || { chmod -R u+rwX -- "$dir.git"; rm -rf -- "$dir.git"; }
if [ -e "$dir" ]; then
  rm -rf -- "$dir" 2>/dev/null || { chmod -R u+rwX -- "$dir"; rm -rf -- "$dir"; } || exit 1
fi
[ -n "$common" ] && [ -d "$common" ] || exit 0
bare worktree prune
rm -f -- "$common/refs/heads/$branch.lock"
# A branch that somebody has checked out elsewhere stays.
bare show-ref --verify --quiet "refs/heads/$branch" && bare branch --quiet -D -- "$branch" 2>/dev/null
[ -z "$ref" ] || bare for-each-ref --format='%(refname)' "$ref" "$ref-2"`;

/** Removes refs; those that do not exist are ignored. */
const DROP = `${GIT}
common=$1; shift
[ -d "$common" ] || exit 0
without_hooks --git-dir="$common"
for ref; do git --git-dir="$common" update-ref -d "$ref" || exit 1; done`;

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

/** Messages of git about objects that a partial clone lacks and that it may not fetch. */
const LACKS_OBJECTS = /promisor remote|lazy fetching disabled|transport '[^']*' not allowed/;

/** The commit of which a worktree is made. */
export interface Start {
  /** Directory in the repository. */
  readonly from: string;
  /** The commit, or a name of it, such as `HEAD`. */
  readonly commit: string;
  /** The ref that replaces `commit` if it exists: it holds earlier commits of the task. */
  readonly kept: string;
}

/**
 * Makes a worktree. Returns the id of the commit at which it starts; `undefined` where it goes on from
 * earlier commits of the task.
 *
 * @throws {AppError} `invalid` when git refuses.
 */
export async function addWorktree(
  { from, commit, kept }: Start,
  { path, branch }: Worktree,
  tools: Tools,
): Promise<string | undefined> {
  const added = await run(ADD, [from, path, branch, commit, kept], tools);
  if (added.code !== 0 && LACKS_OBJECTS.test(added.err)) {
    throw new AppError(
      "invalid",
      `The git repository "${from}" is a partial clone that lacks objects of the commit, which ` +
        'only "git fetch" gets: clone it without "--filter"',
    );
  }
  check(added, "git cannot make a worktree");
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/m.exec(added.out)?.[0];
}

/** How a worktree is removed. */
export interface WorktreeRemoval extends Tools {
  /** The repository it was made of; empty if not known: then only the directory is removed. */
  readonly common: string;
  /** The ref under which commits are kept that exist nowhere else; without it they are removed. */
  readonly kept?: string;
}

/**
 * Removes a worktree with its uncommitted changes and its branch. Returns the refs that hold its
 * commits.
 *
 * @throws {AppError} `invalid` when the worktree cannot be removed completely.
 */
export async function removeWorktree(
  { path, branch }: Worktree,
  { common, kept = "", ...tools }: WorktreeRemoval,
): Promise<KeptCommits> {
  const removed = await run(REMOVE, [path, branch, common, kept], tools);
  check(removed, `The worktree "${path}" cannot be removed`);
  const refs = removed.out.split("\n").filter((line) => line !== "");
  return { repository: common, refs };
}

/**
 * Removes refs that hold commits of a task.
 *
 * @throws {AppError} `invalid` when git refuses.
 */
export async function dropCommits({ repository, refs }: KeptCommits, tools: Tools): Promise<void> {
  const dropped = await run(DROP, [repository, ...refs], tools);
  check(dropped, `The commits of the task in "${repository}" cannot be removed`);
}

function run(script: string, args: readonly string[], tools: Tools): Promise<ToolResult> {
  return runTool({ script, args, signal: tools.signal, taskId: tools.taskId }, tools.host);
}

function check(result: ToolResult, what: string): void {
  if (result.code === 0) return;
  throw new AppError("invalid", `${what}: ${toolError(result)}`);
}
