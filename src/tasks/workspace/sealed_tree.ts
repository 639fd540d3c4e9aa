/**
 * The files of a worktree as one git tree, and what they change since it was made: people approve that,
 * and it is looked at again before it is used. Its own index stays as it is, and the repository gets no
 * object.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { GIT, type Tools } from "./git_worktree.ts";
import type { HeldWorktree } from "./private_git.ts";
import { runTool, toolError } from "./run_tool.ts";

/** The files of a worktree. */
export interface SealedTree {
  /** Id of the git tree. */
  readonly tree: string;
  /** What they change, as a patch; a list of the changed files where that is too long. */
  readonly diff: string;
  /** Whether it is only that list. */
  readonly isCut: boolean;
}

/** Most bytes of a patch that people are shown. */
export const MAX_DIFF_BYTES = 1024 * 1024;

/** Longest time to read all files. */
const TIMEOUT_MS = 10 * 60_000;

/**
 * Makes the tree in an index and a place for objects of its own. The attributes are those of the commit at
 * which the worktree started: a step could write some by which git would read a file as another one. A
 * repository within the worktree would be one line, whatever is in it.
 */
const SEAL = `${GIT}
dir=$1 common=$2 start=$3 tmp=$4 most=$5
without_hooks --git-dir="$common"
export GIT_INDEX_FILE="$tmp/index" GIT_OBJECT_DIRECTORY="$tmp/objects"
export GIT_ALTERNATE_OBJECT_DIRECTORIES="$common/objects" GIT_ATTR_SOURCE="$start"
at() {
  git -c core.bare=false -c core.sparseCheckout=false -c core.quotePath=false \\
    --git-dir="$common" --work-tree="$dir" "$@"
}
mkdir -p -- "$tmp/objects" && cd -- "$dir" || exit 1
# Before git 2.41 the attributes are those of the worktree: then they have to be what they were.
git --attr-source="$start" version >/dev/null 2>&1 ||
  find . -name .gitattributes | while IFS= read -r file; do
    at cat-file blob "$start:\${file#./}" 2>/dev/null | cmp -s - "$file" && continue
    printf 'error: it has changed "%s", by which git may hide what is in a file\\n' "\${file#./}" >&2
    exit 1
  done || exit 1
at read-tree "$start" && at add --all -- . || exit 1
tab=$(printf '\\t')
within=$(at ls-files --stage | grep '^160000 ' | while IFS= read -r line; do
  path=\${line#*"$tab"}
  case $path in '"'*) ;; *) [ -e "$dir/$path/.git" ] || continue ;; esac
  printf '%s\\n' "$path"
done | head -n 1)
[ -z "$within" ] || {
  printf 'error: "%s" is a git repository of its own, so its files cannot be shown\\n' "$within" >&2
  exit 1
}
tree=$(at write-tree) || exit 1
show() {
  at diff-tree -r --no-color --no-ext-diff --no-textconv --no-renames "$@" "$start" "$tree" |
    head -c "$most"
}
show --patch --full-index >"$tmp/diff" && show --name-status >"$tmp/files" && printf '%s\\n' "$tree"`;

/**
 * Reads all files of a worktree, apart from those that git ignores.
 *
 * @param start The commit at which it started.
 * @param tmp An empty directory.
 * @throws {AppError} `invalid` when it cannot be read.
 */
export async function sealTree(
  { path, common }: HeldWorktree,
  { start, tmp }: { readonly start: string; readonly tmp: string },
  { host, signal, taskId }: Tools,
): Promise<SealedTree> {
  const most = MAX_DIFF_BYTES + 1;
  const args = [path, common, start, tmp, String(most)];
  const tool = { script: SEAL, args, signal, taskId, timeoutMs: TIMEOUT_MS };
  const result = await runTool(tool, host);
  const tree = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/m.exec(result.out)?.[0];
  if (result.code !== 0 || tree === undefined) {
    throw new AppError("invalid", `The files of the worktree cannot be read: ${toolError(result)}`);
  }
  const diff = await Deno.readFile(`${tmp}/diff`);
  const isCut = diff.length > MAX_DIFF_BYTES;
  const shown = isCut ? await Deno.readFile(`${tmp}/files`) : diff;
  return { tree, isCut, diff: new TextDecoder().decode(shown) };
}
