/**
 * Opens the change that a step hands over. Its pack is a stranger's: it is read into an empty repository
 * of its own, which is thrown away, and of what is in it only the checked change comes out. git has no
 * network, no token and no configuration there. Sizes are looked at before content.
 *
 * @module
 */

import { join } from "node:path";
import { findText, utf8 } from "../base/bytes.ts";
import { AppError } from "../base/errors.ts";
import { plainOutput } from "../base/output_text.ts";
import { sizeText } from "../base/size.ts";
import {
  CHANGE_LIMITS,
  type ChangedFile,
  type CheckedChange,
  type NewCommit,
  type PackedChange,
} from "./change.ts";
import {
  faultOfLink,
  faultOfMode,
  faultOfPath,
  findTwins,
  isLargeFilePointer,
  MAX_LINK_BYTES,
  MAX_POINTER_BYTES,
  shownPath,
} from "./change_rules.ts";
import {
  type ChangedFolder,
  compareTrees,
  MODES,
  readTree,
  type TreeChange,
  type TreeSide,
} from "./compare_trees.ts";
import { type GitInput, type GitPlace, runGit } from "./git_program.ts";
import { ObjectReader } from "./object_reader.ts";
import { readNumstat } from "./numstat.ts";

/** What opening a change needs. */
export interface PackedChangeHost extends Pick<GitPlace, "path" | "signal" | "clock"> {
  /** Directory in which the throw-away repository is made; of files that lie on a disk. */
  readonly dir: string;
  /** {@linkcode CHANGE_LIMITS} if absent. */
  readonly limits?: ChangeLimits;
}

/** Ceilings of a change. */
export type ChangeLimits = { readonly [Name in keyof typeof CHANGE_LIMITS]: number };

/** Longest time of one git. */
const TIMEOUT_MS = 60_000;
/** Longest life of the git that reads single objects: as long as the change is open. */
const READER_MS = 15 * 60_000;
/** Most objects of a pack: both sides of the most files, with their directories. */
const MAX_OBJECTS = 80_000;
/** Bytes of a line with id, type and size of an object. */
const OBJECT_LINE = 60;
/** Most bytes of the paths of a change, and of all that git prints with them. */
const MAX_LIST_BYTES = 8 * 1024 * 1024;
const PIECE = 1024 * 1024;
const ID = /^[0-9a-f]{40}$/;

/**
 * Checks a change and opens it.
 *
 * @throws {AppError} `refused` for a change that is not taken, `too_large`, `timeout`, or `overloaded`;
 * the message is for the step.
 */
export async function openPackedChange(
  change: PackedChange,
  host: PackedChangeHost,
): Promise<CheckedChange> {
  if (!ID.test(change.start) || !ID.test(change.tree)) {
    throw refused("A change names its commit and its tree by 40 hexadecimal digits (SHA-1)");
  }
  const directory = await Deno.makeTempDir({ dir: host.dir, prefix: "change-" }); // 0700
  const { path, signal, clock, limits = CHANGE_LIMITS } = host;
  const place = { directory, path, signal, clock, timeoutMs: TIMEOUT_MS };
  const opened = new OpenChange(change, { place, limits });
  try {
    await opened.check();
    return opened;
  } catch (error) {
    await opened[Symbol.asyncDispose]();
    throw error;
  }
}

/** Type and size of an object. */
interface ObjectFacts {
  readonly type: string;
  readonly bytes: number;
}

class OpenChange implements CheckedChange {
  readonly start: string;
  readonly tree: string;
  readonly #pack: string;
  readonly #place: GitPlace;
  readonly #limits: ChangeLimits;
  #reader: ObjectReader | undefined;
  #files: readonly ChangedFile[] = [];
  /** Objects of the new side that the old side lacks. */
  #newIds: ReadonlySet<string> = new Set();
  #objects: ReadonlyMap<string, ObjectFacts> = new Map();

  constructor(
    { start, tree, pack }: PackedChange,
    { place, limits }: { readonly place: GitPlace; readonly limits: ChangeLimits },
  ) {
    this.start = start;
    this.tree = tree;
    this.#pack = pack;
    this.#place = place;
    this.#limits = limits;
  }

  get files(): readonly ChangedFile[] {
    return this.#files;
  }

  async check(): Promise<void> {
    await this.#takeIn();
    this.#objects = await this.#listObjects();
    this.#mustBe(this.start, "commit");
    this.#mustBe(this.tree, "tree");
    this.#reader = new ObjectReader({ ...this.#place, timeoutMs: READER_MS });
    const changes = await this.#compare();
    this.#newIds = newIdsOf(changes, this.tree);
    this.#checkSizes(changes);
    await this.#checkContent(changes);
    this.#files = await this.#describe(changes);
    this.#objects = new Map(); // of a large change they are megabytes
  }

  /** Reads the pack into an empty repository; git checks the form of every object. */
  async #takeIn(): Promise<void> {
    const { size } = await Deno.stat(this.#pack);
    const most = this.#limits.packBytes;
    if (size > most) throw tooLarge(`The change has ${sizeText(size)} packed`, sizeText(most));
    await this.#git(["init", "--quiet", "--bare", "--template=", "--object-format=sha1", "."]);
    const args = ["index-pack", "--stdin", "--fsck-objects", `--max-input-size=${most}`];
    const { code, err } = await runGit(this.#place, args, { inputFile: this.#pack });
    if (code !== 0) throw refused(`git does not take the objects of the change: ${wordsOf(err)}`);
  }

  async #listObjects(): Promise<Map<string, ObjectFacts>> {
    const args = ["cat-file", "--batch-all-objects", "--unordered", "--batch-check"];
    const { out } = await this.#git(args, { maxBytes: MAX_OBJECTS * OBJECT_LINE }, "objects");
    const objects = new Map<string, ObjectFacts>();
    let total = 0;
    for (const line of new TextDecoder().decode(out).split("\n")) {
      const [id, type, size] = line.split(" ");
      if (id === undefined || type === undefined) continue;
      total += Number(size);
      objects.set(id, { type, bytes: Number(size) });
    }
    // Both sides of each changed file; those of the old side are in the repository already.
    const most = 2 * this.#limits.bytes;
    if (total > most) throw tooLarge(`The change has ${sizeText(total)} unpacked`, sizeText(most));
    return objects;
  }

  #mustBe(id: string, type: string): ObjectFacts {
    const object = this.#objects.get(id);
    if (object === undefined) {
      throw refused(`The change lacks the object ${id}, a ${type}: make a new one`);
    }
    if (object.type !== type) throw refused(`The object ${id} is a ${object.type}, no ${type}`);
    return object;
  }

  /** The paths that differ, directories among them, by rules that need no content. */
  async #compare(): Promise<TreeChange[]> {
    const changes: TreeChange[] = [];
    let [files, treeBytes] = [0, 0];
    const read = async (id: string) => {
      const { bytes } = this.#mustBe(id, "tree");
      treeBytes += bytes;
      const most = this.#limits.bytes;
      if (treeBytes > most) {
        throw tooLarge(`The change has ${sizeText(treeBytes)} of directories`, sizeText(most));
      }
      return readTree(await this.#read(id, bytes));
    };
    const onFolder = ({ path, names, isNew }: ChangedFolder) => {
      const [one, other] =
        findTwins(names, isNew)?.map((name) => shownPath(path === "" ? name : `${path}/${name}`)) ??
          [];
      if (one === undefined) return;
      throw refused(`${one} and ${other} are one file where case does not count`);
    };
    const root = await this.#rootOf(this.start);
    for await (const change of compareTrees(root, this.tree, { read, onFolder })) {
      const fault = faultOf(change);
      if (fault !== undefined) throw refused(`${shownPath(change.path)} ${fault}`);
      changes.push(change);
      if (isFile(change)) files++;
      const most = this.#limits.files;
      if (files > most) throw tooLarge(`The change has ${files} files or more`, `${most}`);
      if (changes.length > 4 * most) {
        throw new AppError("too_large", "The change has too many directories");
      }
    }
    if (files === 0) throw refused("Nothing has changed");
    return changes;
  }

  async #rootOf(commit: string): Promise<string> {
    const { bytes } = this.#mustBe(commit, "commit");
    const [, root] = /^tree ([0-9a-f]{40})\n/.exec(
      new TextDecoder().decode(await this.#read(commit, bytes)),
    ) ?? [];
    if (root === undefined) throw refused(`The object ${commit} names no tree`);
    return root;
  }

  #checkSizes(changes: readonly TreeChange[]): void {
    let total = 0;
    const counted = new Set<string>();
    const { fileBytes } = this.#limits;
    for (const { path, before, after } of changes) {
      if (isBlob(before)) this.#mustBe(before.id, "blob");
      if (!isBlob(after)) continue;
      const { bytes } = this.#mustBe(after.id, "blob");
      if (bytes > fileBytes) {
        throw tooLarge(`${shownPath(path)} has ${sizeText(bytes)}`, sizeText(fileBytes));
      }
      if (!counted.has(after.id)) total += bytes;
      counted.add(after.id);
    }
    const most = this.#limits.bytes;
    if (total > most) throw tooLarge(`The change has ${sizeText(total)}`, sizeText(most));
  }

  /** Looks into symbolic links, and into files that may stand for large ones kept elsewhere. */
  async #checkContent(changes: readonly TreeChange[]): Promise<void> {
    const known = new Set(changes.map(({ before }) => before?.id));
    for (const { path, after } of changes) {
      if (!isBlob(after)) continue;
      const { bytes } = this.#mustBe(after.id, "blob");
      const isLink = after.mode === MODES.link;
      if (isLink && bytes > MAX_LINK_BYTES) {
        throw refused(`${shownPath(path)} is a symbolic link to a path that is too long`);
      }
      if (!isLink && (bytes > MAX_POINTER_BYTES || known.has(after.id))) continue;
      const content = await this.#read(after.id, bytes);
      const fault = isLink
        ? faultOfLink(path, findText(content))
        : isLargeFilePointer(content)
        ? "stands for a file in Git LFS, which svc does not upload: commit the file itself"
        : undefined;
      if (fault !== undefined) throw refused(`${shownPath(path)} ${fault}`);
    }
  }

  async #describe(changes: readonly TreeChange[]): Promise<ChangedFile[]> {
    const counts = readNumstat(await this.#diff(["--numstat"], MAX_LIST_BYTES));
    const files = changes.filter(isFile).map(({ path, before, after }): ChangedFile => {
      const count = counts.get(path);
      return {
        path,
        change: before === undefined ? "added" : after === undefined ? "deleted" : "modified",
        oldMode: before?.mode ?? "",
        newMode: after?.mode ?? "",
        blob: after?.id ?? "",
        bytes: isBlob(after) ? this.#mustBe(after.id, "blob").bytes : 0,
        added: count?.added ?? 0,
        removed: count?.removed ?? 0,
        isBinary: count?.isBinary ?? false,
      };
    });
    return files.toSorted((a, b) => a.path < b.path ? -1 : 1);
  }

  async readBlob(id: string): Promise<Uint8Array<ArrayBuffer>> {
    if (!this.#newIds.has(id)) throw refused(`The object ${id} is not new`);
    return await this.#read(id, this.#limits.fileBytes);
  }

  async #read(id: string, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
    if (this.#reader === undefined) throw new Error("A change that is not open");
    return await this.#reader.read(id, maxBytes);
  }

  async commit({ parent, author, at, message }: NewCommit): Promise<string> {
    const who = `${named(author.name)} <${named(author.email)}> ${Math.floor(at / 1000)} +0000`;
    const text = `tree ${this.tree}\nparent ${parent}\nauthor ${who}\ncommitter ${who}\n\n` +
      `${message.replaceAll("\0", "").trimEnd()}\n`;
    const args = ["hash-object", "-t", "commit", "-w", "--stdin"];
    const { out } = await this.#git(args, { input: utf8(text) });
    return new TextDecoder().decode(out).trim();
  }

  async *pack(commit: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    const list = [commit, ...this.#newIds].map((id) => `${id}\n`).join("");
    const args = ["pack-objects", "--quiet", "--threads=1", "out"];
    const { out } = await this.#git(args, { input: utf8(list) });
    const name = `out-${new TextDecoder().decode(out).trim()}.pack`;
    using file = await Deno.open(join(this.#place.directory, name));
    for (;;) {
      const piece = new Uint8Array(PIECE);
      let length = 0;
      while (length < PIECE) {
        const read = await file.read(piece.subarray(length));
        if (read === null) break;
        length += read;
      }
      if (length > 0) yield piece.subarray(0, length);
      if (length < PIECE) return;
    }
  }

  async patch(): Promise<Uint8Array<ArrayBuffer>> {
    const most = this.#limits.patchBytes;
    const args = ["-c", "core.quotePath=false", ...diffArgs(this), "-p", "-M", "-l1000"];
    const { code, err, out, endedFor } = await runGit(this.#place, args, { maxBytes: most });
    if (endedFor === undefined) {
      if (code !== 0) throw refused(`git cannot compare the change: ${wordsOf(err)}`);
      return out;
    }
    const end = utf8(`[The patch is longer than ${sizeText(most)}, and is cut here]\n`);
    const whole = out.subarray(0, out.lastIndexOf(0x0a, most - end.length - 1) + 1);
    const cut = new Uint8Array(whole.length + end.length);
    cut.set(whole);
    cut.set(end, whole.length);
    return cut;
  }

  async #diff(args: readonly string[], maxBytes: number): Promise<Uint8Array> {
    const line = [...diffArgs(this), "-z", "--no-renames", ...args];
    return (await this.#git(line, { maxBytes }, "paths")).out;
  }

  /** Runs a git that has to succeed; `what` is too long if it prints more than `maxBytes`. */
  async #git(args: readonly string[], input: GitInput = {}, what = "output") {
    const ended = await runGit(this.#place, args, input);
    if (ended.endedFor === "output") {
      throw new AppError("too_large", `The change has too many ${what}`);
    }
    if (ended.code !== 0) throw refused(`git cannot read the change: ${wordsOf(ended.err)}`);
    return ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader?.[Symbol.asyncDispose]();
    await Deno.remove(this.#place.directory, { recursive: true });
  }
}

/** Compares the two trees; text that git holds in memory for it is bounded as the patch is. */
function diffArgs({ start, tree }: Pick<CheckedChange, "start" | "tree">): string[] {
  const quiet = ["--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none"];
  return ["-c", "core.bigFileThreshold=4m", "diff-tree", "-r", ...quiet, start, tree];
}

/** What is wrong with what a change writes at one path. */
function faultOf({ path, after }: TreeChange): string | undefined {
  if (after === undefined) return undefined;
  return faultOfPath(path) ??
    (after.mode === MODES.directory ? undefined : faultOfMode(after.mode));
}

function isFile({ before, after }: TreeChange): boolean {
  return (after ?? before)?.mode !== MODES.directory;
}

/** Whether this is a blob of this repository. */
function isBlob(side: TreeSide | undefined): side is TreeSide {
  return side !== undefined && side.mode !== MODES.directory && side.mode !== MODES.commit;
}

/** The objects of the new side, the root among them, that the old side lacks. */
function newIdsOf(changes: readonly TreeChange[], root: string): Set<string> {
  const known = new Set(changes.map(({ before }) => before?.id));
  const ids = changes.flatMap(({ after }) =>
    after === undefined || after.mode === MODES.commit || known.has(after.id) ? [] : [after.id]
  );
  return new Set([root, ...ids]);
}

/** A name or an address as a commit can have it. */
function named(text: string): string {
  return text.replaceAll(/[<>\p{Cc}]/gu, "").trim();
}

/** What git says, on one line. */
function wordsOf(err: string): string {
  const lines = err.split("\n").map((line) => line.replace(/^(fatal|error): /, ""));
  return plainOutput(lines.join("; "), 300);
}

function refused(message: string): AppError {
  return new AppError("refused", message);
}

function tooLarge(has: string, most: string): AppError {
  return new AppError("too_large", `${has}, and may have ${most}`);
}
