/**
 * The id of a tree of git, computed from a list of its entries as GitLab's and Gitea's APIs give it. Pure.
 *
 * ```ts
 * import { treeId } from "./tree_id.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * const id = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
 * const readme = { id, name: "README.md", type: "blob", mode: "100644" };
 * equal(treeId([readme]), "f93e3a1a1525fb5b91020da86e44810c87a2d7bc");
 * equal(treeId([{ ...readme, name: "a/b" }]), "");
 * ```
 *
 * @module
 */

import { concatBytes, findHex, sha1Hex, utf8 } from "../../base/bytes.ts";
import { objectIn } from "../../base/json.ts";

/** The type of what each mode stands for. */
const TYPES: Readonly<Record<string, string>> = {
  "40000": "tree",
  "100644": "blob",
  "100755": "blob",
  "120000": "blob",
  "160000": "commit",
};

interface TreeEntry {
  readonly mode: string;
  readonly name: Uint8Array<ArrayBuffer>;
  readonly id: Uint8Array<ArrayBuffer>;
}

/**
 * The id of the tree with these entries; empty if one of them cannot be in a tree. A name that is no
 * UTF-8 comes changed from the API, and gives another id.
 */
export function treeId(list: readonly unknown[]): string {
  const entries = list.map(toEntry);
  const known = entries.filter((one) => one !== undefined);
  if (known.length < entries.length) return "";
  const parts = known.toSorted(inOrder).map(({ mode, name, id }) =>
    concatBytes(utf8(`${mode} `), name, new Uint8Array(1), id)
  );
  const body = concatBytes(...parts);
  return sha1Hex(concatBytes(utf8(`tree ${body.length}\0`), body));
}

function toEntry(data: unknown): TreeEntry | undefined {
  const { id, name, type, mode: given } = objectIn(data);
  if (typeof id !== "string" || typeof name !== "string" || typeof given !== "string") {
    return undefined;
  }
  const mode = given.replace(/^0+/, "");
  if (!Object.hasOwn(TYPES, mode) || TYPES[mode] !== type) return undefined;
  const bytes = /^[0-9a-f]{40}$/.test(id) ? findHex(id) : undefined;
  if (bytes === undefined || !name.isWellFormed() || !/^[^/\0]+$/.test(name)) return undefined;
  return { mode, name: utf8(name), id: bytes };
}

/** Git's order: by bytes, where the name of a directory ends with a slash. */
function inOrder(one: TreeEntry, other: TreeEntry): number {
  const [a, b] = [sortedBy(one), sortedBy(other)];
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

function sortedBy({ mode, name }: TreeEntry): Uint8Array {
  return mode === "40000" ? concatBytes(name, utf8("/")) : name;
}
