/**
 * The files of a worktree as one git tree, the commit that is checked out, and what they change since it
 * was made: people approve that, and it is looked at again before it is used. Its own index stays as it is,
 * and the repository gets no object.
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
  /** Id of the commit that HEAD names: a step that pushes may take that in the place of the files. */
  readonly head: string;
  /**
   * The commits since the start, and what the files change, as a patch; where files of the commit are
   * others, what they change of that. A list of the changed files where that is too long.
   */
  readonly diff: string;
  /** Whether more is sealed than the diff shows: it says itself what. */
  readonly isCut: boolean;
}

/** Most bytes of a patch that people are shown. */
export const MAX_DIFF_BYTES = 1024 * 1024;

/** Most files without text that are named. */
const MAX_NAMED = 20;

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
dir=$1 common=$2 start=$3 tmp=$4 most=$5 name=$6
head=$(git --git-dir="$common/worktrees/$name" rev-parse --verify --quiet 'HEAD^{commit}') || {
  echo 'error: HEAD names no commit' >&2; exit 1
}
ignored=$(git --git-dir="$common" config --path core.excludesFile)
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_NO_REPLACE_OBJECTS=1
format=$(git --git-dir="$common" rev-parse --show-object-format) &&
  git init --quiet --bare --template= --object-format="$format" "$tmp/git" &&
  mkdir -p -- "$tmp/git/info" "$tmp/git/objects/info" || exit 1
printf '%s/objects\\n' "$common" >"$tmp/git/objects/info/alternates"
printf '* -text -ident !eol !crlf !filter !working-tree-encoding !diff\\n' >"$tmp/git/info/attributes"
[ ! -f "$common/shallow" ] || cp -- "$common/shallow" "$tmp/git/shallow" || exit 1
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
committed=$(at rev-parse "$head^{tree}") && first=$(at rev-parse "$start^{tree}") || exit 1
changes() {
  at diff-tree -r --no-color --no-ext-diff --no-textconv --no-renames --ignore-submodules=none "$@" ||
    [ $? -eq 141 ] || : >"$tmp/failed"
}
show() {
  changes "$@" "$start" "$tree"
  case $committed in "$tree" | "$first") return ;; esac
  printf '[The commit %s has other files. They change that in this way:]\\n' "$head"
  changes "$@" "$tree" "$committed"
}
commits() {
  at log --no-color --encoding=UTF-8 \\
    --format='commit %H%nAuthor: %an <%ae>%n%n%w(0,4,4)%B%w(0,0,0)' "$start..$head" ||
    [ $? -eq 141 ] || : >"$tmp/failed"
}
bound() { head -c "$most" && [ ! -e "$tmp/failed" ]; }
{ commits; show --patch --full-index; } | bound >"$tmp/diff" &&
  show --name-status | bound >"$tmp/files" &&
  show --numstat -z | tr '\\000' '\\n' | sed -n "s/^-$tab-$tab//p" | bound >"$tmp/binary" &&
  printf '%s\\n%s\\n' "$tree" "$head"`;

/**
 * Reads all files of a worktree, apart from those that git ignores.
 *
 * @param start The commit at which it started.
 * @param tmp An empty directory.
 * @throws {AppError} `invalid` when it cannot be read.
 */
export async function sealTree(
  { path, common, name }: HeldWorktree,
  { start, tmp }: { readonly start: string; readonly tmp: string },
  { host, signal, taskId }: Tools,
): Promise<SealedTree> {
  const most = MAX_DIFF_BYTES + 1;
  const args = [path, common, start, tmp, String(most), name];
  const tool = { script: SEAL, args, signal, taskId, timeoutMs: TIMEOUT_MS };
  const result = await runTool(tool, host);
  const [tree, head] = result.out.match(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/gm) ?? [];
  if (result.code !== 0 || tree === undefined || head === undefined) {
    throw new AppError("invalid", `The files of the worktree cannot be read: ${toolError(result)}`);
  }
  const diff = await Deno.readFile(`${tmp}/diff`);
  const isLong = diff.length > MAX_DIFF_BYTES;
  const shown = new TextDecoder().decode(isLong ? await Deno.readFile(`${tmp}/files`) : diff);
  const notShown = isLong
    ? ["the lines of these files, which are too many"]
    : notShownIn(shown, await Deno.readTextFile(`${tmp}/binary`));
  const lines = notShown.map((what) => `[Not shown: ${what}]\n`).join("");
  // No text of a database has NUL.
  const text = `${shown}${lines}`.replaceAll("\0", "\u2400");
  return { tree, head, isCut: notShown.length > 0, diff: text };
}

/** What a patch does not show; `binary` has a path in each line. */
function notShownIn(patch: string, binary: string): string[] {
  const paths = [...new Set(binary.split("\n"))].filter((path) => path !== "");
  const names = paths.slice(0, MAX_NAMED).map((path) => JSON.stringify(path)).join(", ");
  const more = paths.length > MAX_NAMED ? ` and ${paths.length - MAX_NAMED} more` : "";
  return [
    ...paths.length === 0 ? [] : [`what is in ${names}${more}: no text`],
    // What is no UTF-8 is decoded as this, and shown alike whatever it was.
    ...patch.includes("\ufffd") ? ["characters that are none of UTF-8 (\ufffd)"] : [],
  ];
}
