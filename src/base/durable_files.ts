/**
 * Files and directories on which other code relies as soon as they exist: after a power cut each is
 * complete, or as it was before. A plain write does not promise that: for half a minute, a file system
 * may have the name of a file without its content.
 *
 * @module
 */

import { dirname } from "node:path";

/** Mode of a file that only its owner can read. */
const PRIVATE = 0o600;

/** Writes a file; replaces one that is at `path`. */
export async function writeDurably(path: string, text: string, mode = PRIVATE): Promise<void> {
  await writeBeside(path, text, { mode, rename: Deno.rename });
}

/** Makes a file; returns `false` if `path` exists already, which then stays as it is. */
export async function createDurably(path: string, text: string): Promise<boolean> {
  if (await isThere(path)) {
    await Deno.remove(partOf(path)).catch(() => {}); // left by a process that was killed
    return false;
  }
  try {
    await writeBeside(path, text, { mode: PRIVATE, rename: nameUnlessThere });
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return false;
    throw error;
  }
}

/**
 * Makes a directory that only its owner can use, and missing ones above it; returns `false` if it
 * exists already.
 */
export async function makeDirectoryDurably(path: string): Promise<boolean> {
  if (await isThere(path)) return false;
  const parent = dirname(path);
  if (parent !== path) await makeDirectoryDurably(parent);
  // Another process may have made it meanwhile.
  await Deno.mkdir(path, { recursive: true, mode: 0o700 });
  await syncDirectory(parent);
  return true;
}

/** Waits until the content of a file is on disk. */
export async function syncFile(path: string): Promise<void> {
  using file = await Deno.open(path, { read: true, write: true });
  await file.sync();
}

/** Error codes of systems that sync no directories: there, the sync of a file includes its name. */
const NOT_FOR_DIRECTORIES = new Set<unknown>(["EINVAL", "EBADF", "EISDIR", "EACCES", "EPERM"]);

/** Waits until the names in a directory are on disk. */
export async function syncDirectory(path: string): Promise<void> {
  try {
    using directory = await Deno.open(path);
    await directory.sync();
  } catch (error) {
    if (!NOT_FOR_DIRECTORIES.has((error as { readonly code?: unknown }).code)) throw error;
  }
}

/** How a file is made. */
interface Beside {
  readonly mode: number;
  /** Gives the file its name when its content is on disk. */
  readonly rename: (from: string, to: string) => Promise<void>;
}

const partOf = (path: string) => `${path}.part`;

async function writeBeside(path: string, text: string, { mode, rename }: Beside): Promise<void> {
  const part = partOf(path);
  try {
    await Deno.remove(part).catch(() => {}); // left by a process that was killed
    await Deno.writeTextFile(part, text, { createNew: true, mode });
    await syncFile(part);
    await rename(part, path);
    await syncDirectory(dirname(path));
  } finally {
    await Deno.remove(part).catch(() => {}); // not there any more after a rename
  }
}

/** Gives a file its name unless the name exists: a hard link fails then, a rename would replace it. */
async function nameUnlessThere(from: string, to: string): Promise<void> {
  try {
    await Deno.link(from, to);
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) throw error;
    // A file system without hard links.
    if (await isThere(to)) throw new Deno.errors.AlreadyExists(to);
    await Deno.rename(from, to);
  }
}

/** Whether `path` exists, also as a link that leads nowhere. */
export async function isThere(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
