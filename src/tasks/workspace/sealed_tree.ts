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
 * Makes the tree in a repository of its own, which has the objects of the other one and nothing of its
 * configuration: a filter or a hook that it names would run here, where no sandbox is, and could itself
 * be a file of the worktree. Files are read as they are, whatever attributes a step has written: some hide
 * what is in a file (`ident`, `-diff`), or read it as another one. What git would not look into ends it: a
 * repository within the worktree, a directory for a submodule, and one that cannot be read.
 */
const SEAL = `${GIT}
dir=$1 common=$2 start=$3 tmp=$4 most=$5
ignored=$(git --git-dir="$common" config --path core.excludesFile)
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_NO_REPLACE_OBJECTS=1
format=$(git --git-dir="$common" rev-parse --show-object-format) &&
  git init --quiet --bare --template= --object-format="$format" "$tmp/git" &&
  mkdir -p -- "$tmp/git/info" "$tmp/git/objects/info" || exit 1
printf '%s/objects\\n' "$common" >"$tmp/git/objects/info/alternates"
printf '* -text -ident !eol !crlf !filter !working-tree-encoding !diff\\n' >"$tmp/git/info/attributes"
[ ! -f "$common/info/exclude" ] || cp -- "$common/info/exclude" "$tmp/git/info/exclude" || exit 1
at() {
  git -c core.bare=false -c core.quotePath=false -c core.fileMode=true -c core.symlinks=true \\
    -c core.attributesFile=/dev/null \${ignored:+-c "core.excludesFile=$ignored"} \\
    -c diff.ignoreSubmodules=all -c advice.addEmbeddedRepo=false \\
    --git-dir="$tmp/git" --work-tree="$dir" "$@"
}
cd -- "$dir" && at read-tree "$start" || exit 1
at add --all -- . 2>"$tmp/said" || { cat "$tmp/said" >&2; exit 1; }
[ ! -s "$tmp/said" ] || { cat "$tmp/said" >&2; exit 1; }
tab=$(printf '\\t')
within=$(at ls-files --stage | grep '^160000 ' | while IFS= read -r line; do
  path=\${line#*"$tab"}
  case $path in '"'*) ;; *) [ -n "$(ls -A -- "$dir/$path" 2>&1)" ] || continue ;; esac
  printf '%s\\n' "$path"
done | head -n 1)
[ -z "$within" ] || {
  printf 'error: "%s" is a git repository of its own, so its files cannot be shown\\n' "$within" >&2
  exit 1
}
tree=$(at write-tree) || exit 1
show() {
  {
    at diff-tree -r --no-color --no-ext-diff --no-textconv --no-renames --ignore-submodules=none \\
      "$@" "$start" "$tree" || [ $? -eq 141 ] || : >"$tmp/failed"
  } | head -c "$most" && [ ! -e "$tmp/failed" ]
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
  // No text of a database has NUL.
  return { tree, isCut, diff: new TextDecoder().decode(shown).replaceAll("\0", "\u2400") };
}
