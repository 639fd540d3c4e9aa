/**
 * What no change may have, whatever a workflow allows: names that reach out of a repository or hide
 * something, links that lead elsewhere, kinds of entries that git has no use for. Pure. Each function
 * returns what is wrong as the rest of a sentence after the path.
 *
 * @module
 */

import { hiddenRuns, spellInLines } from "../base/control_characters.ts";
import { MODES } from "./compare_trees.ts";

/** Most characters of a path; git itself refuses longer ones on most machines. */
export const MAX_PATH = 4096;
/** Longest target of a symbolic link. */
export const MAX_LINK_BYTES = 4096;
/** Largest file that stands for one in git's large file storage. */
export const MAX_POINTER_BYTES = 1024;

const NEW_MODES: readonly string[] = ["100644", "100755", MODES.link, MODES.commit];

/** A path as people read it, hidden characters spelled out. */
export function shownPath(path: string): string {
  const shown = path.length > 200 ? `${path.slice(0, 199).toWellFormed()}…` : path;
  return `"${spellInLines(shown, "")}"`;
}

/** What is wrong with the name of a file that a change writes. */
export function faultOfPath(path: string): string | undefined {
  if (path.length > MAX_PATH) return "is too long";
  for (const part of path.split("/")) {
    if (part === "" || part === "." || part === "..") return "is no path inside a repository";
    if (foldedName(part) === ".GIT") return "is in a directory that belongs to git";
  }
  for (const _run of hiddenRuns(path)) return "has hidden characters in its name";
  return undefined;
}

/** What is wrong with the mode of a file that a change writes. */
export function faultOfMode(mode: string): string | undefined {
  return NEW_MODES.includes(mode) ? undefined : `has the mode ${mode}, which git does not write`;
}

/**
 * What is wrong with the target of a symbolic link. It may go up only at its beginning: behind the
 * name of another link `..` would lead to the parent of that link's target.
 */
export function faultOfLink(path: string, target: string | undefined): string | undefined {
  if (target === undefined || target === "") return "is a symbolic link to no path";
  for (const _run of hiddenRuns(target)) return "is a symbolic link with hidden characters";
  if (/^[/\\]|^[a-z]:/i.test(target)) return "is a symbolic link to an absolute path";
  const parts = target.split(/[/\\]/).filter((part) => part !== "" && part !== ".");
  const ups = parts.findIndex((part) => part !== "..");
  const up = ups < 0 ? parts.length : ups;
  const leadsOut = up > path.split("/").length - 1;
  if (leadsOut || parts.slice(up).includes("..")) {
    return "is a symbolic link that leads out of the repository";
  }
  if (parts.some((part) => foldedName(part) === ".GIT")) {
    return "is a symbolic link into a directory that belongs to git";
  }
  return undefined;
}

/** Whether the bytes of a file stand for a file in git's large file storage. */
export function isLargeFilePointer(bytes: Uint8Array): boolean {
  const text = new TextDecoder().decode(bytes.subarray(0, 200));
  return /^version https:\/\/(git-lfs\.github\.com|hawser\.github\.com)\/spec\//.test(text);
}

/** The same for names that a file system may take for one: of other case, or composed otherwise. */
function foldedName(name: string): string {
  return name.normalize("NFC").toUpperCase().normalize("NFC");
}

/**
 * Two names of one directory that a file system may take for one, of which at least one is new: both
 * were there before in repositories for systems that tell them apart. Keeps no names but those that
 * fold like a new one.
 */
export async function findTwins(
  names: AsyncIterable<string> | Iterable<string>,
  fresh: readonly string[],
): Promise<readonly [string, string] | undefined> {
  const wanted = new Set(fresh.map(foldedName));
  const seen = new Map<string, string>();
  if (wanted.size === 0) return undefined;
  for await (const name of names) {
    const folded = foldedName(name);
    if (!wanted.has(folded)) continue;
    const other = seen.get(folded);
    if (other !== undefined) return [other, name];
    seen.set(folded, name);
  }
  return undefined;
}
