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

import { dirname, join, resolve } from "node:path";
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

/** The end of the name of a private part, after that of its worktree. */
export const PRIVATE_SUFFIX = ".git";

const privateOf = ({ path }: Worktree) => `${path}${PRIVATE_SUFFIX}`;

/** Makes the private part, empty but for the branches of the repository. */
const MAKE = `
common=$1 own=$2 git=$3
mkdir -p -- "$own/objects/info" "$own/objects/pack" "$own/logs" && cp -R -- "$common/refs" "$own/" || exit 1
[ -e "$git/config.worktree" ] || : >"$git/config.worktree"`;

/**
 * Takes all objects of the private part, and lets the branch of the task follow. Nothing of the part is
 * run or obeyed: it may name no other directory, and the repository computes the names of the objects
 * anew. Prints nothing.
 */
const COLLECT = `${GIT}
common=$1 own=$2 branch=$3 commit=$4 most=$5
without_hooks --git-dir="$common"
bare() { git --git-dir="$common" "$@"; }
rm -f -- "$own/objects/info/alternates" "$own/objects/info/http-alternates"
odd=$(find "$own/objects" ! -type f ! -type d | head -n 1)
[ -z "$odd" ] || { printf 'error: "%s" is neither a file nor a directory\\n' "$odd" >&2; exit 1; }
if [ -n "$(find "$own/objects" -type f | head -n 1)" ]; then
  list=$(GIT_OBJECT_DIRECTORY="$own/objects" bare cat-file --batch-all-objects --unordered \\
    --batch-check='%(objectname)') || exit 1
  if [ -n "$list" ]; then
    printf '%s\\n' "$list" |
      GIT_ALTERNATE_OBJECT_DIRECTORIES="$own/objects" bare pack-objects -q --stdout |
      bare index-pack --stdin --max-input-size="$most" >/dev/null || exit 1
  fi
fi
[ -z "$commit" ] || bare update-ref "refs/heads/$branch" "$commit" || exit 1
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
      at("write", git, git),
      ...["commondir", "gitdir", "config.worktree"].map((file) =>
        at("read", join(git, file), join(git, file))
      ),
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
  const head = join(common, "worktrees", name, "HEAD");
  const { at, commit } = headOf(head, own);
  const isOnBranch = at === `refs/heads/${branch}`;
  const args = [common, own, branch, isOnBranch ? commit : "", String(MOST_BYTES)];
  await run(COLLECT, args, tools, "The commits of the step cannot be taken into the repository");
  // A branch that only the sandbox had: outside, the worktree keeps the commit without it.
  if (at !== "" && !isOnBranch && commit !== "") await replaceFile(head, `${commit}\n`);
}

/** The branch that is checked out, empty for a commit without one, and its commit. */
function headOf(file: string, own: string): { readonly at: string; readonly commit: string } {
  const text = readStart(file);
  const [, at = ""] = /^ref: (refs\/heads\/[\w][\w./+@-]*)$/.exec(text) ?? [];
  const commit = at === "" || at.split("/").includes("..") ? text : readStart(join(own, at));
  return { at, commit: /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(commit) ? commit : "" };
}

/** A short file that a step may have replaced; empty for anything else. */
function readStart(path: string): string {
  try {
    return readRegularText(path).slice(0, 1000).trim();
  } catch {
    return "";
  }
}

/** A step may have put a link there: it is replaced, never followed. */
async function replaceFile(path: string, text: string): Promise<void> {
  const made = await Deno.makeTempFile({ dir: dirname(path) });
  await Deno.writeTextFile(made, text);
  await Deno.rename(made, path);
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
