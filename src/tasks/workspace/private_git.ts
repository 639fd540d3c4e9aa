/**
 * Git in the sandbox of a worktree. A step there reads the repository and writes to a part of it that
 * is its own: objects, branches and logs of a private directory lie over those of the repository, which
 * is mounted for reading. So a step can commit, branch and fetch, and can neither change what git runs
 * for others (hooks, configuration, where a worktree finds its repository) nor what they have
 * committed. When the last step ends, its objects are checked and taken into the repository, and its
 * commits become those of the task's branch.
 *
 * @module
 */

import { join, resolve } from "node:path";
import { AppError } from "../../base/errors.ts";
import { isThere } from "../../base/durable_files.ts";
import { readRegularText } from "../../base/regular_file.ts";
import type { Mount } from "../../shell/sandbox.ts";
import { GIT, type Tools, type Worktree } from "./git_worktree.ts";
import { isDirectory } from "./directory_fault.ts";
import { runTool, toolError } from "./run_tool.ts";

/** A worktree and its repository. */
export interface HeldWorktree extends Worktree {
  /** Name of the worktree in its repository. */
  readonly name: string;
  /** The git directory of the repository. */
  readonly common: string;
}

/** What a sandbox needs for git in it. */
export interface PrivateGit {
  readonly mounts: readonly Mount[];
  readonly variables: Readonly<Record<string, string>>;
}

/** Where a sandbox has the objects of the repository, which git finds by those of the private part. */
const OBJECTS = "/run/svc/objects";

/** Most repositories that one borrows objects from, through any number of others. */
const MOST_LENDERS = 20;

/** Most bytes that the steps between two collections may have written as objects. */
const MOST_BYTES = 2 * 1024 ** 3;

/** Most bytes of memory of one git that collects them. */
const MOST_MEMORY = 2 * 1024 ** 3;

/** The end of the name of a private part, after that of its worktree. */
export const PRIVATE_SUFFIX = ".git";

const privateOf = ({ path }: Worktree) => `${path}${PRIVATE_SUFFIX}`;

/**
 * Makes the private part: no objects, the branches of the repository, and what it has of the worktree
 * (HEAD, index, …). Any git in the repository reads that of all worktrees: a pipe in it would stop the
 * other tasks.
 */
const MAKE = `
common=$1 own=$2 git=$3
[ -e "$git/config.worktree" ] || : >"$git/config.worktree" || exit 1
mkdir -p -- "$own/objects/info" "$own/objects/pack" "$own/logs" && cp -R -- "$common/refs" "$own/" &&
cp -R -- "$git" "$own/worktree.part" && mv -- "$own/worktree.part" "$own/worktree"`;

/** What a step cannot change of its worktree: where git looks, and what it runs. */
const FIXED = ["commondir", "gitdir", "config.worktree"];

/**
 * Takes all objects of the private part, lets the branch of the task follow, and takes the files of the
 * worktree. Nothing of the part is run or obeyed: it may name no other directory, and the repository
 * computes the names of the objects anew. A small file can become an object of any size, for which git
 * may use only so much memory, and tries no deltas. Prints nothing.
 */
const COLLECT = `${GIT}
common=$1 own=$2 branch=$3 commit=$4 most=$5 git=$6 other=$7
ulimit -d ${MOST_MEMORY / 1024} 2>/dev/null
without_hooks --git-dir="$common"
bare() { git --git-dir="$common" "$@"; }
size=$(du -sk -- "$own") || exit 1
[ "\${size%%[!0-9]*}" -le "$((most / 1024))" ] || {
  printf 'error: what the step has committed is larger than %s bytes\\n' "$most" >&2; exit 1
}
rm -f -- "$own/objects/info/alternates" "$own/objects/info/http-alternates"
# Git need not read what it can find out by itself.
rm -rf -- "$own/objects/pack/multi-pack-index"* "$own"/objects/pack/*.bitmap "$own"/objects/pack/*.rev
odd=$(find "$own/objects" ! -type f ! -type d | head -n 1)
[ -z "$odd" ] || { printf 'error: "%s" is neither a file nor a directory\\n' "$odd" >&2; exit 1; }
if [ -n "$(find "$own/objects" -type f | head -n 1)" ]; then
  list=$(GIT_OBJECT_DIRECTORY="$own/objects" bare cat-file --batch-all-objects --unordered \\
    --batch-check='%(objectname)') || exit 1
  if [ -n "$list" ]; then
    printf '%s\\n' "$list" |
      GIT_ALTERNATE_OBJECT_DIRECTORIES="$own/objects" bare pack-objects -q --stdout \\
        --window=0 --threads=1 |
      bare index-pack --stdin --threads=1 --max-input-size="$most" >/dev/null || exit 1
  fi
fi
# A commit with anything missing would stop each fetch and each gc of the repository.
is_whole() {
  bare cat-file -e "$1^{commit}" 2>/dev/null &&
    bare rev-list --objects --quiet --ignore-missing --exclude-promisor-objects "$1" --not --all 2>/dev/null
}
if [ -n "$commit" ] && [ "$commit" != "$(bare rev-parse --verify --quiet "refs/heads/$branch")" ]; then
  is_whole "$commit" || { printf 'error: the commit %s lacks objects\\n' "$commit" >&2; exit 1; }
  bare update-ref "refs/heads/$branch" "$commit" || exit 1
fi
[ -z "$other" ] || ! found=$(bare rev-parse --verify --quiet "$other^{commit}") || ! is_whole "$found" ||
  printf '%s\\n' "$found" >"$own/worktree/HEAD" || exit 1
if [ -d "$own/worktree" ]; then
  # Its log may name commits that are not whole, which count as long as they are named.
  cd -- "$own/worktree" && rm -rf -- logs ${FIXED.join(" ")} || exit 1
  # A program that runs outside later would write through a link.
  find . ! -type f ! -type d -exec rm -f -- {} + || exit 1
  find "$git" -mindepth 1 -maxdepth 1 ! -name HEAD ! -name logs ${
  FIXED.map((name) => `! -name ${name}`).join(" ")
} \\
    -exec rm -rf -- {} + && cp -R -- . "$git/" || exit 1
  cd / && mv -- "$own/worktree" "$own/worktree.part" || exit 1
fi
rm -rf -- "$own"`;

/**
 * Makes the private part of a worktree; one that a killed daemon has left is collected before.
 *
 * @throws {AppError} `invalid` when the repository is of a kind that cannot be held.
 */
export async function openPrivateGit(worktree: HeldWorktree, tools: Tools): Promise<PrivateGit> {
  const { common, name, path } = worktree;
  const own = privateOf(worktree);
  const git = join(common, "worktrees", name);
  if (await isThere(join(common, "reftable"))) {
    throw new AppError(
      "invalid",
      `The git repository "${common}" keeps its branches as reftable, which no sandbox can take: ` +
        'set "isolation: copy" in its Workspace',
    );
  }
  await collectPrivateGit(worktree, tools);
  await run(
    MAKE,
    [common, own, git],
    tools,
    "The sandbox cannot be given its part of the repository",
  );
  const lenders = await lendersOf(join(common, "objects"));
  const alternates = join(own, "objects", "info", "alternates");
  await Deno.writeTextFile(alternates, [OBJECTS, ...lenders].map((one) => `${one}\n`).join(""));
  const at = (mode: "read" | "write", from: string, to: string): Mount => ({
    put: mode,
    from,
    at: to,
  });
  const hasLogs = await isDirectory(join(common, "logs"));
  const settings = [
    "gc.auto=0",
    "maintenance.auto=false",
    ...hasLogs ? [] : ["core.logAllRefUpdates=false"],
  ];
  return {
    mounts: [
      at("read", common, common),
      at("read", join(common, "objects"), OBJECTS),
      ...lenders.map((lender) => at("read", lender, lender)),
      at("write", join(own, "objects"), join(common, "objects")),
      at("read", join(own, "objects", "info"), join(common, "objects", "info")),
      at("write", join(own, "refs"), join(common, "refs")),
      ...hasLogs ? [at("write", join(own, "logs"), join(common, "logs"))] : [],
      at("write", join(own, "worktree"), git),
      ...FIXED.map((file) => at("read", join(git, file), join(git, file))),
      at("read", join(path, ".git"), join(path, ".git")),
    ],
    variables: {
      GIT_CONFIG_COUNT: String(settings.length),
      ...Object.fromEntries(settings.flatMap((setting, index) => {
        const [key = "", value = ""] = setting.split("=");
        return [[`GIT_CONFIG_KEY_${index}`, key], [`GIT_CONFIG_VALUE_${index}`, value]];
      })),
    },
  };
}

/**
 * Takes what steps have committed and staged into the repository, and removes the private part. Does
 * nothing where there is none.
 *
 * @throws {AppError} `invalid` when it cannot be taken; it then stays where it is.
 */
export async function collectPrivateGit(worktree: HeldWorktree, tools: Tools): Promise<void> {
  const { common, branch, name } = worktree;
  const own = privateOf(worktree);
  if (!await isDirectory(own)) return;
  const git = join(common, "worktrees", name);
  const { at, commit } = headOf(own);
  const isOnBranch = at === `refs/heads/${branch}`;
  const isHeld = await isDirectory(join(own, "worktree"));
  // A branch that only the sandbox had: outside, the worktree keeps the commit without it, if that is
  // whole. What is no commit, or a branch that is not the step's, must not become what is committed to
  // outside.
  if (isHeld && !isOnBranch) {
    await replaceFile(join(own, "worktree", "HEAD"), `ref: refs/heads/${branch}`);
  }
  const other = isHeld && !isOnBranch ? commit || at : "";
  const args = [common, own, branch, isOnBranch ? commit : "", String(MOST_BYTES), git, other];
  await run(COLLECT, args, tools, "The commits of the step cannot be taken into the repository");
}

/** The branch that is checked out, empty for a commit without one, and its commit. */
function headOf(own: string): { readonly at: string; readonly commit: string } {
  const text = readStart(own, "worktree/HEAD");
  const [, at = ""] = /^ref: (refs\/heads\/[\w][\w./+@-]*)$/.exec(text) ?? [];
  const commit = at === "" ? text : readStart(own, at);
  return { at, commit: /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(commit) ? commit : "" };
}

/**
 * A short file of the private part; empty for anything else. A link could lead to a secret of the
 * machine, whose text a later step would find.
 */
function readStart(own: string, file: string): string {
  try {
    const path = `${Deno.realPathSync(own)}/${file}`; // with each ".." that is in it
    return Deno.realPathSync(path) === path ? readRegularText(path).slice(0, 1000).trim() : "";
  } catch {
    return "";
  }
}

/** A step may have put anything there: it is replaced, never followed. */
async function replaceFile(path: string, text: string): Promise<void> {
  await Deno.remove(path, { recursive: true }).catch(() => {});
  await Deno.writeTextFile(path, `${text}\n`, { createNew: true });
}

/** The directories that a repository borrows objects from, by the files in which git names them. */
async function lendersOf(objects: string): Promise<string[]> {
  const found: string[] = [];
  const look = [objects];
  for (let one = look.pop(); one !== undefined && found.length < MOST_LENDERS; one = look.pop()) {
    const text = await Deno.readTextFile(join(one, "info", "alternates")).catch(() => "");
    for (const line of text.split("\n")) {
      const lender = line === "" || line.startsWith("#") ? "" : resolve(one, line);
      if (lender === "" || found.includes(lender) || !await isDirectory(lender)) continue;
      found.push(lender);
      look.push(lender);
    }
  }
  return found;
}

async function run(
  script: string,
  args: readonly string[],
  { host, signal, taskId }: Tools,
  what: string,
): Promise<void> {
  const result = await runTool({ script, args, signal, taskId }, host);
  if (result.code !== 0) throw new AppError("invalid", `${what}: ${toolError(result)}`);
}
