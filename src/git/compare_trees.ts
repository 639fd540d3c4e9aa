/**
 * Compares two trees of git entry by entry. It asks for one tree at a time, so that who reads it can
 * stop: a few objects can stand for more files than any machine has room for. Pure.
 *
 * @module
 */

import { findText } from "../base/bytes.ts";
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

/** One entry of a tree. */
export interface TreeEntry extends TreeSide {
  readonly name: string;
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
  readonly names: readonly string[];
  /** Whether there was nothing of that name. */
  readonly isNew: (name: string) => boolean;
}

/** What is told about two trees. */
export interface TreeVisitor {
  /** The entries of a tree. */
  readonly read: (id: string) => Promise<readonly TreeEntry[]>;
  readonly onFolder: (folder: ChangedFolder) => void;
}

/**
 * The paths at which two trees differ, directories among them; each directory comes before its entries.
 * Throws what the visitor throws.
 */
export async function* compareTrees(
  before: string | undefined,
  after: string | undefined,
  visitor: TreeVisitor,
  path = "",
): AsyncGenerator<TreeChange> {
  const [old, now] = [await entriesOf(before, visitor), await entriesOf(after, visitor)];
  if (after !== undefined) {
    visitor.onFolder({ path, names: [...now.keys()], isNew: (name) => !old.has(name) });
  }
  for (const name of new Set([...old.keys(), ...now.keys()])) {
    const [was, is] = [old.get(name), now.get(name)];
    if (was?.id === is?.id && was?.mode === is?.mode) continue;
    const within = path === "" ? name : `${path}/${name}`;
    const [wasFolder, isFolder] = [was?.mode, is?.mode].map((mode) => mode === MODES.directory);
    if (wasFolder === isFolder) {
      yield changeAt(within, was, is);
    } else {
      if (was !== undefined) yield changeAt(within, was, undefined);
      if (is !== undefined) yield changeAt(within, undefined, is);
    }
    const [one, other] = [wasFolder ? was?.id : undefined, isFolder ? is?.id : undefined];
    if (one !== other) yield* compareTrees(one, other, visitor, within);
  }
}

async function entriesOf(
  id: string | undefined,
  { read }: TreeVisitor,
): Promise<Map<string, TreeSide>> {
  const entries = id === undefined ? [] : await read(id);
  return new Map(entries.map((entry) => [entry.name, entry]));
}

function changeAt(
  path: string,
  before: TreeSide | undefined,
  after: TreeSide | undefined,
): TreeChange {
  return { path, ...before && { before }, ...after && { after } };
}

/**
 * The entries of a tree, from the bytes of its object.
 *
 * @throws {AppError} `refused` for a name that is not UTF-8, and for other bytes.
 */
export function readTree(object: Uint8Array): TreeEntry[] {
  const entries: TreeEntry[] = [];
  for (let at = 0; at < object.length;) {
    const end = object.indexOf(0, at);
    const space = object.indexOf(0x20, at);
    if (space < 0 || end < space || object.length < end + 21) {
      throw new AppError("refused", "An object of the change is no tree");
    }
    const name = findText(object.subarray(space + 1, end));
    if (name === undefined) throw new AppError("refused", "A name beside the change is not UTF-8");
    const mode = new TextDecoder().decode(object.subarray(at, space));
    entries.push({ name, mode, id: object.subarray(end + 1, end + 21).toHex() });
    at = end + 21;
  }
  return entries;
}
