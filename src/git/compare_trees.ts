/**
 * Compares two trees of git entry by entry. It asks for one tree at a time, so that who reads it can
 * stop: a few objects can stand for more files than any machine has room for. One directory can have a
 * million entries, and directories can lie in each other ten thousand deep, so entries stay bytes until
 * they differ, other work goes on meanwhile, and no call waits in another one for each level. Pure.
 *
 * @module
 */

import { equalBytes, findText, utf8 } from "../base/bytes.ts";
import { nextTurn } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";

/** Modes of git, as the objects of trees have them. */
export const MODES = {
  directory: "40000",
  link: "120000",
  /** A commit of another repository (submodule). */
  commit: "160000",
} as const;

/** One side of an entry: its mode and its object. */
export interface TreeSide {
  readonly mode: string;
  readonly id: string;
}

/** One path at which two trees differ; a directory that becomes a file is two of them. */
export interface TreeChange {
  readonly path: string;
  /** Absent on the side where nothing is. */
  readonly before?: TreeSide;
  readonly after?: TreeSide;
}

/** A directory of the new side that differs from the one at its path before. */
export interface ChangedFolder {
  /** Empty for the root. */
  readonly path: string;
  readonly names: AsyncIterable<string>;
  /** Those that were not there before. */
  readonly fresh: readonly string[];
}

/** What is told about two trees. */
export interface TreeVisitor {
  /** The bytes of a tree, whose entries are in the order of git. */
  readonly read: (id: string) => Promise<Uint8Array>;
  /** Told after what has changed in a directory. */
  readonly onFolder: (folder: ChangedFolder) => Promise<void>;
}

/** Two trees at one path, of which one may be missing. */
interface Folder {
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/**
 * The paths at which two trees differ, directories among them; each directory comes before its entries.
 * Throws what the visitor throws.
 *
 * @throws {AppError} `refused` for a name that is not UTF-8, and for an object that is no tree.
 */
export async function* compareTrees(
  before: string,
  after: string,
  visitor: TreeVisitor,
): AsyncGenerator<TreeChange> {
  const open = [compareFolders({ path: "", before, after }, visitor)];
  for (let inner = open.at(-1); inner !== undefined; inner = open.at(-1)) {
    const { done, value } = await inner.next();
    if (done === true) open.pop();
    else if ("inside" in value) open.push(compareFolders(value.inside, visitor));
    else yield value;
  }
}

/** The differences of two directories, and which directories in them differ. */
async function* compareFolders(
  { path, before, after }: Folder,
  { read, onFolder }: TreeVisitor,
): AsyncGenerator<TreeChange | { readonly inside: Folder }> {
  const [old, now] = [before && await read(before), after && await read(after)];
  const fresh: string[] = [];
  let steps = 0;
  for (const [was, is] of pairsOf(old || EMPTY, now || EMPTY)) {
    if (++steps % PER_TURN === 0) await nextTurn();
    if (was !== undefined && is !== undefined && isSame(was, is)) continue;
    const name = nameOf(was ?? is);
    if (was === undefined) fresh.push(name);
    const within = path === "" ? name : `${path}/${name}`;
    const [from, to] = [was && sideOf(was), is && sideOf(is)];
    yield { path: within, ...from && { before: from }, ...to && { after: to } };
    if (was?.isFolder === true || is?.isFolder === true) {
      yield { inside: { path: within, before: from?.id, after: to?.id } };
    }
  }
  if (now) await onFolder({ path, names: namesOf(now), fresh });
}

/** Entries that are looked at before other work has a turn. */
const PER_TURN = 4096;
const EMPTY = new Uint8Array();

/** One entry, as the bytes of its tree. */
interface Entry {
  readonly mode: Uint8Array;
  readonly name: Uint8Array;
  readonly id: Uint8Array;
  readonly isFolder: boolean;
  /** Index behind it. */
  readonly end: number;
}

/**
 * The entries of two trees side by side: those of one name and kind together. Both are in the order of
 * git; were they not, more would differ, and never less.
 */
function* pairsOf(
  old: Uint8Array,
  now: Uint8Array,
): Generator<readonly [Entry | undefined, Entry | undefined]> {
  let [was, is] = [entryAt(old, 0), entryAt(now, 0)];
  while (was !== undefined || is !== undefined) {
    const order = was === undefined ? 1 : is === undefined ? -1 : orderOf(was, is);
    yield [order <= 0 ? was : undefined, order >= 0 ? is : undefined];
    if (order <= 0 && was !== undefined) was = entryAt(old, was.end);
    if (order >= 0 && is !== undefined) is = entryAt(now, is.end);
  }
}

/**
 * The directories and symbolic links in a tree whose names are UTF-8; other work goes on meanwhile.
 *
 * @throws {AppError} `refused` for an object that is no tree.
 */
export async function* waysIn(
  tree: Uint8Array,
): AsyncGenerator<{ readonly name: string; readonly isLink: boolean; readonly id: string }> {
  let steps = 0;
  for (let entry = entryAt(tree, 0); entry !== undefined; entry = entryAt(tree, entry.end)) {
    if (++steps % PER_TURN === 0) await nextTurn();
    const isLink = equalBytes(entry.mode, LINK);
    const name = isLink || entry.isFolder ? findText(entry.name) : undefined;
    if (name !== undefined) yield { name, isLink, id: entry.id.toHex() };
  }
}

/** The names in a tree. */
async function* namesOf(tree: Uint8Array): AsyncGenerator<string> {
  let steps = 0;
  for (let entry = entryAt(tree, 0); entry !== undefined; entry = entryAt(tree, entry.end)) {
    if (++steps % PER_TURN === 0) await nextTurn();
    yield nameOf(entry);
  }
}

function entryAt(tree: Uint8Array, at: number): Entry | undefined {
  if (at >= tree.length) return undefined;
  const space = tree.indexOf(0x20, at);
  const nul = tree.indexOf(0, at);
  const end = nul + 21;
  if (space < 0 || nul < space || tree.length < end) {
    throw new AppError("refused", "An object of the change is no tree");
  }
  const mode = tree.subarray(at, space);
  return {
    mode,
    name: tree.subarray(space + 1, nul),
    id: tree.subarray(nul + 1, end),
    isFolder: equalBytes(mode, FOLDER),
    end,
  };
}

const FOLDER = utf8(MODES.directory);
const LINK = utf8(MODES.link);

/** The order of git: the name of a directory counts as if a slash were behind it. */
function orderOf(one: Entry, other: Entry): number {
  const most = Math.min(one.name.length, other.name.length);
  for (let at = 0; at < most; at++) {
    const difference = (one.name[at] ?? 0) - (other.name[at] ?? 0);
    if (difference !== 0) return difference;
  }
  const length = one.name.length - other.name.length;
  return byteAt(one, most) - byteAt(other, most) || length;
}

function byteAt({ name, isFolder }: Entry, at: number): number {
  return name[at] ?? (isFolder ? SLASH : 0);
}

const SLASH = 0x2f;

function isSame(one: Entry, other: Entry): boolean {
  return equalBytes(one.id, other.id) && equalBytes(one.mode, other.mode);
}

function nameOf(entry: Entry | undefined): string {
  const name = findText(entry?.name ?? EMPTY);
  if (name === undefined) throw new AppError("refused", "A name beside the change is not UTF-8");
  return name;
}

function sideOf({ mode, id }: Entry): TreeSide {
  return { mode: new TextDecoder().decode(mode), id: id.toHex() };
}
