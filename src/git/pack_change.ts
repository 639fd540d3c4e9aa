/**
 * Packs the change that a step hands over: where it begins, the tree that it leads to, and the objects
 * on both sides of each changed path. It reads a working tree with an index and a place for objects of
 * its own, so that nothing of the repository changes. It runs where the step runs: its git obeys the
 * configuration of the repository, which anything in the working tree may have written.
 *
 * @module
 */

import { join } from "node:path";
import { utf8 } from "../base/bytes.ts";
import type { Clock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import { plainOutput } from "../base/output_text.ts";
import { sizeText } from "../base/size.ts";
import { type ProgramOutput, runProgram } from "../shell/run_program.ts";
import { CHANGE_LIMITS } from "./change.ts";

/** What is packed. */
export interface ChangeWanted {
  /** The commit at which the change begins; `undefined` where nobody has named one. */
  readonly start: string | undefined;
  /** All files as they are, a commit by its name, or what is committed. */
  readonly of: { readonly all: true } | { readonly commit: string };
}

/** Where it is packed. */
export interface PackHost {
  /** A directory in the working tree. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly clock: Pick<Clock, "after">;
}

/** A change to hand over; disposing it waits until nothing of its making is left on the disk. */
export interface WholeChange extends AsyncDisposable {
  readonly start: string;
  readonly tree: string;
  readonly pack: Uint8Array<ArrayBuffer>;
}

/** Longest time of one git: the first look at a large working tree takes long. */
const TIMEOUT_MS = 300_000;
/** Most bytes of the list of paths. */
const MAX_LIST_BYTES = 32 * 1024 * 1024;
const MAX_BYTES = 64 * 1024;
/** Stands for no object, and for a file that is not hashed. */
const NOTHING = /^0+$/;

/** Programs that a repository may name and that reading it does not need; filters of files stay. */
const SETTINGS = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.bigFileThreshold=1m",
  "core.quotePath=false",
  "advice.addEmbeddedRepo=false",
  "pack.packSizeLimit=0",
  "pack.compression=1",
];
const VARIABLES = {
  GIT_ALLOW_PROTOCOL: "none",
  GIT_NO_LAZY_FETCH: "1",
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_TERMINAL_PROMPT: "0",
  LC_ALL: "C",
};
/** No program that git starts needs them. */
const TOKENS = ["SVC_RUN_TOKEN", "SVC_TOKEN"];

/**
 * Packs a change.
 *
 * @throws {AppError} `refused` with what to do, where there is none or it cannot be packed; `too_large`.
 */
export async function packChange(wanted: ChangeWanted, host: PackHost): Promise<WholeChange> {
  await using made = new AsyncDisposableStack();
  const temporary = await Deno.makeTempDir({ prefix: "svc-change-" });
  made.defer(() => Deno.remove(temporary, { recursive: true }));
  const reader = new ChangeReader(temporary, host);
  await reader.open();
  const change = await reader.pack(wanted);
  // It takes as long as the daemon takes to look at the change, so both go on at the same time.
  const removing = made.move().disposeAsync().catch(() => {}); // the change is whole without it
  return { ...change, [Symbol.asyncDispose]: () => removing };
}

/**
 * Stores a commit that svc has made of a change, with the objects of the change, in the repository: on no
 * branch, for the next change to begin at. A step in a sandbox cannot fetch it.
 *
 * @throws {AppError} `refused` if git does not take it.
 */
export async function keepCommit(
  { pack, commit, object }: {
    readonly pack: Uint8Array<ArrayBuffer>;
    /** Id of the commit. */
    readonly commit: string;
    readonly object: string;
  },
  host: PackHost,
): Promise<void> {
  await using made = new AsyncDisposableStack();
  const temporary = await Deno.makeTempDir({ prefix: "svc-change-" });
  made.defer(() => Deno.remove(temporary, { recursive: true }));
  const reader = new ChangeReader(temporary, host);
  await reader.open();
  await reader.keep({ pack, commit, object });
}

/** What one git gets. */
interface GitGiven {
  /** Whether new objects go into the repository. */
  readonly keeps?: boolean;
  readonly input?: Uint8Array<ArrayBuffer>;
  readonly maxBytes?: number;
  /** Path of its index; absent for none: that of a large repository takes long to read. */
  readonly index?: string;
}

class ChangeReader {
  readonly #host: PackHost;
  readonly #objects: string;
  readonly #index: string;
  readonly #noIndex: string;
  #repository = { top: "", objects: "", index: "", isShallow: false };

  constructor(temporary: string, host: PackHost) {
    this.#host = host;
    this.#objects = join(temporary, "objects");
    this.#index = join(temporary, "index");
    this.#noIndex = join(temporary, "none");
  }

  /** Finds the repository, and lends its objects to a place where new ones go. */
  async open(): Promise<void> {
    const { directory } = this.#host;
    const paths = ["--path-format=absolute", "--git-path", "objects", "--git-path", "index"];
    const args = [
      "rev-parse",
      "--show-toplevel",
      "--show-object-format",
      "--is-shallow-repository",
    ];
    const { code, out, err } = await this.#run([...args, ...paths], { in: directory });
    if (code !== 0) {
      throw refused(
        /not a git repository|must be run in a work tree/.test(err)
          ? `"${directory}" is in no git repository: run this in the directory of the task`
          : `git cannot read the repository: ${wordsOf(err)}`,
      );
    }
    const [top = "", format, shallow, objects = "", index = ""] = textOf(out).split("\n");
    if (format !== "sha1") {
      throw refused("The repository names its objects by SHA-256, which no platform takes yet");
    }
    this.#repository = { top, objects, index, isShallow: shallow === "true" };
    await Deno.mkdir(join(this.#objects, "info"), { recursive: true });
    await Deno.writeTextFile(join(this.#objects, "info", "alternates"), `${objects}\n`);
  }

  async pack({ start: name, of }: ChangeWanted): Promise<Omit<WholeChange, keyof AsyncDisposable>> {
    if (name === undefined) {
      throw refused(
        "svc does not know the commit at which this task began: name the commit of the base branch " +
          "on which the change was made with --onto, such as --onto origin/main",
      );
    }
    const rev = "commit" in of ? of.commit : "HEAD";
    const [start, startTree, committed] = await this.#resolve([
      `${name}^{commit}`,
      `${name}^{tree}`,
      `${rev}^{tree}`,
    ]);
    if (start === undefined || startTree === undefined) throw this.#lacks(name);
    const [tree, links] = await Promise.all([
      "all" in of ? this.#treeOfFiles() : committed,
      this.#linksOf(startTree),
    ]);
    if (tree === undefined) throw refused(`There is no commit "${rev}" here`);
    if (tree === startTree) throw await this.#nothing(startTree, of);
    const objects = await this.#list(startTree, tree);
    const pack = await this.#pack([...new Set([start, startTree, tree, ...links, ...objects.ids])]);
    return { start, tree, pack };
  }

  async keep({ pack, commit, object }: Parameters<typeof keepCommit>[0]): Promise<void> {
    await this.#git(["unpack-objects", "-q"], { input: pack, keeps: true });
    const args = ["hash-object", "-t", "commit", "-w", "--stdin"];
    const { out } = await this.#git(args, { input: utf8(object), keeps: true });
    if (textOf(out).trim() !== commit) throw refused(`The object of commit ${commit} is another`);
  }

  /** The ids of objects by their names; `undefined` for one that is not there. */
  async #resolve(names: readonly string[]): Promise<readonly (string | undefined)[]> {
    const input = utf8(names.map((name) => `${name.replaceAll("\n", " ")}\n`).join(""));
    const { out } = await this.#git(["cat-file", "--batch-check"], { input });
    const lines = textOf(out).split("\n");
    return names.map((_, at) => /^([0-9a-f]{40}) (?:commit|tree) \d+$/.exec(lines[at] ?? "")?.[1]);
  }

  /** A tree of all files that git does not ignore. */
  async #treeOfFiles(): Promise<string> {
    await this.#copyIndex();
    const index = this.#index;
    await this.#git(["add", "--all", "--", "."], { index });
    const { out } = await this.#git(["write-tree", "--missing-ok"], { index });
    return textOf(out).trim();
  }

  /**
   * Copies the index, because it says which files need not be read again. The copy must not be younger:
   * git reads a file again that has changed as late as its index.
   */
  async #copyIndex(): Promise<void> {
    const { index } = this.#repository;
    try {
      const { mtime } = await Deno.stat(index);
      await Deno.copyFile(index, this.#index);
      if (mtime !== null) await Deno.utime(this.#index, mtime, mtime);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      await this.#git(["read-tree", "HEAD"], { index: this.#index });
    }
  }

  /** The objects on both sides of each path that differs, and how many of them are files. */
  async #list(
    from: string,
    to: string,
  ): Promise<{ readonly ids: string[]; readonly files: number }> {
    const args = ["diff-tree", "-r", "-t", "-z", "--raw", "--no-renames", "--no-abbrev"];
    const line = [...args, "--ignore-submodules=none", from, to];
    const { out } = await this.#git(line, { maxBytes: MAX_LIST_BYTES });
    const ids = new Set<string>();
    let files = 0;
    for (
      const [, ...change] of textOf(out).matchAll(/:(\d{6}) (\d{6}) ([0-9a-f]+) ([0-9a-f]+) \w\0/g)
    ) {
      const [oldMode, newMode, oldId = "", newId = ""] = change;
      if (![oldMode, newMode].includes("040000")) files++;
      for (const [mode, id] of [[oldMode, oldId], [newMode, newId]] as const) {
        if (mode !== "160000" && !NOTHING.test(id)) ids.add(id);
      }
    }
    const most = CHANGE_LIMITS.files;
    if (files > most) {
      throw new AppError("too_large", `The change has ${files} files, at most ${most}`);
    }
    return { ids: [...ids], files };
  }

  /**
   * The objects of links that lead from a protected place to another one, see {@linkcode findLinks}: those
   * of all links at the top and in directories there that begin with a dot, and these directories.
   */
  async #linksOf(tree: string): Promise<string[]> {
    const top = await this.#listTree(tree);
    const hidden = top.filter(({ mode, name }) => mode === "040000" && name.startsWith("."));
    const below = hidden.length === 0
      ? []
      : await this.#listTree(tree, "-r", "-t", "--", ...hidden.map(({ name }) => name));
    return [...top.filter(({ mode }) => mode === "120000"), ...below]
      .flatMap(({ mode, id }) => mode === "120000" || mode === "040000" ? [id] : []);
  }

  async #listTree(tree: string, ...args: readonly string[]) {
    const [recursive, paths] = [args.slice(0, 2), args.slice(2)];
    const line = ["ls-tree", "-z", "--full-tree", ...recursive, tree, ...paths];
    const { out } = await this.#git(line, { maxBytes: MAX_LIST_BYTES });
    const entries = textOf(out).matchAll(/([0-9]{6}) [a-z]+ ([0-9a-f]+)\t([^\0]*)\0/g);
    return [...entries].map(([, mode = "", id = "", name = ""]) => ({ mode, id, name }));
  }

  async #pack(ids: readonly string[]): Promise<Uint8Array<ArrayBuffer>> {
    const most = CHANGE_LIMITS.packBytes;
    const input = utf8(ids.map((id) => `${id}\n`).join(""));
    const args = ["pack-objects", "--quiet", "--stdout", "--threads=1", "--delta-base-offset"];
    return (await this.#git(args, { input, maxBytes: most })).out;
  }

  /** Why there is nothing to hand over. */
  async #nothing(startTree: string, of: ChangeWanted["of"]): Promise<AppError> {
    if ("all" in of) return refused("Nothing has changed");
    const { files } = await this.#list(startTree, await this.#treeOfFiles());
    if (files === 0) return refused("Nothing has changed");
    return refused(
      of.commit === "HEAD"
        ? `Nothing is committed since the task began: commit something, or use --all, which takes ${
          files === 1 ? "1 file" : `${files} files`
        }`
        : `The commit "${of.commit}" has changed nothing`,
    );
  }

  #lacks(name: string): AppError {
    return refused(
      this.#repository.isShallow
        ? `The commit ${name} is not in this shallow clone: run "git fetch --unshallow" first`
        : `The commit ${name} is not in this repository: name another with --onto`,
    );
  }

  async #git(
    args: readonly string[],
    given: GitGiven = {},
  ): Promise<ProgramOutput> {
    const ended = await this.#run(args, { ...given, in: this.#repository.top });
    if (ended.endedFor === "output") {
      const most = sizeText(given.maxBytes ?? MAX_BYTES);
      throw new AppError("too_large", `The change is larger than ${most}, packed or by its paths`);
    }
    if (ended.code === 0) return ended;
    const lacks = /missing|unable to read|bad object|could not get object|lazy fetching/.test(
      ended.err,
    );
    const remedy = lacks ? ': an object is missing; run "git fetch" or clone without --filter' : "";
    throw refused(`git cannot read the change: ${wordsOf(ended.err)}${remedy}`);
  }

  async #run(
    args: readonly string[],
    { in: cwd, input, maxBytes = MAX_BYTES, index = this.#noIndex, keeps = false }: GitGiven & {
      readonly in: string;
    },
  ): Promise<ProgramOutput> {
    const { signal, clock } = this.#host;
    const env: Record<string, string> = { ...this.#host.env, ...VARIABLES };
    for (const name of TOKENS) delete env[name];
    if (this.#repository.top !== "") {
      env["GIT_INDEX_FILE"] = index;
      if (!keeps) env["GIT_OBJECT_DIRECTORY"] = this.#objects;
    }
    const ended = await runProgram({
      line: ["git", ...SETTINGS.flatMap((setting) => ["-c", setting]), ...args],
      cwd,
      env,
      timeoutMs: TIMEOUT_MS,
      signal,
      maxBytes,
      ...(input === undefined ? {} : { input }),
    }, clock);
    if (ended.code === 127) throw refused("git is not installed here: install it");
    if (ended.endedFor === "timeout") {
      throw new AppError("timeout", `git took longer than ${TIMEOUT_MS / 60_000} minutes`);
    }
    if (ended.endedFor === "signal") throw new AppError("timeout", "git was interrupted");
    return ended;
  }
}

const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** What git says, on one line. */
function wordsOf(err: string): string {
  const lines = err.split("\n").filter((line) => /^(fatal|error): /.test(line));
  const words = lines.map((line) => line.replace(/^(fatal|error): /, "")).join("; ");
  return plainOutput(words === "" ? err : words, 300);
}

function refused(message: string): AppError {
  return new AppError("refused", message);
}
