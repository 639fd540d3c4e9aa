/**
 * Opens the change that a step hands over. Its pack is a stranger's: it is read into an empty repository
 * of its own, which is thrown away, and of what is in it only the checked change comes out. git has no
 * network, no token and no configuration there. Sizes are looked at before content.
 *
 * @module
 */

import { findText } from "../base/bytes.ts";
import { AppError } from "../base/errors.ts";
import { sizeText } from "../base/size.ts";
import {
  CHANGE_LIMITS,
  type ChangedFile,
  type CheckedChange,
  type NewCommit,
  type PackedChange,
} from "./change.ts";
import { countLines, makeCommit, packOf, patchOf } from "./change_output.ts";
import {
  faultOfLink,
  faultOfMode,
  faultOfPath,
  findTwins,
  isLargeFilePointer,
  MAX_LINK_BYTES,
  MAX_PATH,
  MAX_POINTER_BYTES,
  shownPath,
} from "./change_rules.ts";
import {
  type ChangedFolder,
  compareTrees,
  MODES,
  type TreeChange,
  type TreeSide,
} from "./compare_trees.ts";
import { type BaseLink, findLinks } from "./base_links.ts";
import { type GitPlace, mustGit, runGit, wordsOfGit } from "./git_program.ts";
import { ObjectReader } from "./object_reader.ts";

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
  #links: readonly BaseLink[] = [];
  #reader: ObjectReader | undefined;
  #files: readonly ChangedFile[] = [];
  #blobs: ReadonlySet<string> = new Set();
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

  get links(): readonly BaseLink[] {
    return this.#links;
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
    this.#links = await this.#findLinks();
    await this.#checkContent(changes);
    this.#files = await this.#describe(changes);
    this.#blobs = new Set(changes.flatMap(({ after }) => isBlob(after) ? [after.id] : []));
    this.#objects = new Map(); // of a large change they are megabytes
  }

  /** Reads the pack into an empty repository; git checks the form of every object. */
  async #takeIn(): Promise<void> {
    const { size } = await Deno.stat(this.#pack);
    const most = this.#limits.packBytes;
    if (size > most) throw tooLarge(`The change has ${sizeText(size)} packed`, sizeText(most));
    await mustGit(this.#place, [
      "init",
      "--quiet",
      "--bare",
      "--template=",
      "--object-format=sha1",
      ".",
    ]);
    const args = ["index-pack", "--stdin", "--fsck-objects", `--max-input-size=${most}`];
    const { code, err } = await runGit(this.#place, args, { inputFile: this.#pack });
    if (code !== 0) {
      throw refused(`git does not take the objects of the change: ${wordsOfGit(err)}`);
    }
  }

  async #listObjects(): Promise<Map<string, ObjectFacts>> {
    const args = ["cat-file", "--batch-all-objects", "--unordered", "--batch-check"];
    const { out } = await mustGit(this.#place, args, {
      maxBytes: MAX_OBJECTS * OBJECT_LINE,
      what: "objects",
    });
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
      return await this.#read(id, bytes);
    };
    const onFolder = async ({ path, names, fresh }: ChangedFolder) => {
      const twins = await findTwins(names, fresh);
      const [one, other] =
        twins?.map((name) => shownPath(path === "" ? name : `${path}/${name}`)) ?? [];
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

  /** The links that the change finds; its pack has them with the directories in which they are. */
  async #findLinks(): Promise<readonly BaseLink[]> {
    let left = this.#limits.bytes;
    return await findLinks(await this.#rootOf(this.start), {
      readTree: async (id) => {
        left -= this.#mustBe(id, "tree").bytes;
        if (left < 0) throw new AppError("too_large", "The repository has too large directories");
        return await this.#read(id, this.#limits.bytes);
      },
      readLink: async (id) => {
        this.#mustBe(id, "blob");
        return new TextDecoder().decode(await this.#read(id, MAX_LINK_BYTES));
      },
    });
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
    const counts = await countLines(this.#place, this);
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
    if (!this.#blobs.has(id)) throw refused(`The object ${id} is not in the change`);
    return await this.#read(id, this.#limits.fileBytes);
  }

  async #read(id: string, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
    if (this.#reader === undefined) throw new Error("A change that is not open");
    return await this.#reader.read(id, maxBytes);
  }

  async commit(commit: NewCommit): Promise<string> {
    return await makeCommit(this.#place, this.tree, commit);
  }

  async readCommit(id: string): Promise<string> {
    return new TextDecoder().decode(await this.#read(id, this.#limits.fileBytes));
  }

  pack(commit: string): AsyncIterable<Uint8Array<ArrayBuffer>> {
    return packOf(this.#place, [commit, ...this.#newIds]);
  }

  async patch(): Promise<Uint8Array<ArrayBuffer>> {
    return await patchOf(this.#place, this, this.#limits.patchBytes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader?.[Symbol.asyncDispose]();
    await Deno.remove(this.#place.directory, { recursive: true });
  }
}

/** What is wrong with what a change writes or deletes at one path. */
function faultOf({ path, after }: TreeChange): string | undefined {
  if (after === undefined) return path.length > MAX_PATH ? "is too long" : undefined;
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

function refused(message: string): AppError {
  return new AppError("refused", message);
}

function tooLarge(has: string, most: string): AppError {
  return new AppError("too_large", `${has}, and may have ${most}`);
}
