/**
 * Fetches the newest commit of the branch that a workspace follows, before a worktree is made of it. No
 * person could answer a prompt, so a program that would prompt fails.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { GIT, type Tools } from "./git_worktree.ts";
import { runTool, toolError, type ToolResult } from "./run_tool.ts";

/**
 * The only call of git that may use a transport. It runs the programs that the configuration of the
 * repository names for that, such as `core.sshCommand`, so `fetch: true` trusts the repository.
 *
 * A stalled connection must not delay the other tasks of the repository: it has 30 seconds to be made,
 * and ends after a minute without data.
 *
 * The line of `FETCH_HEAD` without `not-for-merge` has the commit of the branch that the checked out one
 * follows; there is no such line when the remote has no such branch any more. A bare repository follows
 * no branch: there it is its own default branch if the fetch has updated it, else that of the remote.
 */
const FETCH = `${GIT}
cd -- "$1" || exit 1
without_hooks
bare=$(git rev-parse --is-bare-repository)
if branch=$(git symbolic-ref --quiet --short HEAD); then
  remote=$(git config "branch.$branch.remote" || :)
elif [ "$bare" = false ]; then
  echo 'error: no branch is checked out there: check one out that follows a branch of a remote' >&2
  exit 1
fi
if [ "$bare" = true ]; then
  [ -n "$remote" ] || remote=$(git remote | grep -x origin) || remote=$(git remote | head -n 1)
fi
if [ -z "$remote" ]; then
  printf 'error: branch "%s" follows no branch of a remote: %s\\n' "$branch" \
    "run \\"git branch --set-upstream-to=origin/$branch $branch\\" there" >&2
  exit 1
fi
if [ -z "$GIT_SSH_COMMAND" ] && ! git config core.sshCommand >/dev/null; then
  export GIT_SSH_COMMAND='ssh -o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=20'
fi
(
  unset GIT_ALLOW_PROTOCOL GIT_NO_LAZY_FETCH
  git -c core.askPass= -c http.lowSpeedLimit=1 -c http.lowSpeedTime=60 \
    fetch --quiet --no-recurse-submodules -- "$remote"
) || exit 1
fetched=$(grep -v not-for-merge -- "$(git rev-parse --git-path FETCH_HEAD)" | cut -f 1 | head -n 1)
if [ -z "$fetched" ] && [ "$bare" = true ]; then fetched=$(git rev-parse --verify HEAD); fi
if [ -z "$fetched" ]; then
  printf 'error: the branch that "%s" follows is no longer at "%s"\\n' "$branch" "$remote" >&2
  exit 1
fi
echo "$fetched"`;

/** Longest time of a fetch, for which other tasks of the repository may wait. */
const TIMEOUT_MS = 10 * 60_000;

/** Lines of git that add nothing to the line before them. */
const NO_REASON =
  /^(fatal: Could not read from remote repository|Please make sure you have|and the repository exists)/;

/**
 * Fetches from the remote of the branch that is checked out at `path`; returns the newest commit of the
 * branch that it follows.
 *
 * @throws {AppError} `invalid` with the reason and what to do.
 */
export async function fetchUpstream(path: string, tools: Tools): Promise<string> {
  const { host, signal, taskId } = tools;
  const tool = { script: FETCH, args: [path], signal, taskId, timeoutMs: TIMEOUT_MS };
  const fetched = await runTool(tool, host);
  if (fetched.code === 0) return fetched.out.trim();
  throw new AppError("invalid", `git cannot fetch in "${path}": ${reasonOf(fetched)}`);
}

/** Why a fetch failed. Users and passwords are removed from addresses in the message. */
function reasonOf(result: ToolResult): string {
  const lines = result.err.split("\n").filter((line) => line.trim() !== "");
  if (lines[0]?.startsWith("error: ")) return toolError(result);
  const telling = lines.filter((line) => !NO_REASON.test(line.trim()));
  const reason = toolError({ ...result, err: (telling.length > 0 ? telling : lines).join("\n") });
  const hidden = reason.replace(/\/\/[^\s/@]+@/g, "//").replace(/\.$/, "");
  return `${hidden}. Try "git fetch" there as the user of the daemon; variables such as ` +
    "SSH_AUTH_SOCK and HTTPS_PROXY reach it only where step-env names them";
}
