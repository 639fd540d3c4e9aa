/**
 * Files and directories that others rely on as soon as they are there: after a power cut each is
 * whole, or as it was before. A write alone promises neither: a file system may keep the name of a
 * file and lose its content for half a minute.
 *
 * @module
 */

import { dirname } from "node:path";

/** Mode of a file that is its owner's alone. */
const PRIVATE = 0o600;

/** Writes a file in the place of the one at `path`, if there is one. */
export async function writeDurably(path: string, text: string, mode = PRIVATE): Promise<void> {
  await writeBeside(path, text, { mode, rename: Deno.rename });
}

/** Makes a file; `false` where there is one already, which then stays as it is. */
export async function createDurably(path: string, text: string): Promise<boolean> {
  if (await isThere(path)) {
    await Deno.remove(partOf(path)).catch(() => {}); // of one that was killed
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
 * Makes a directory that is its owner's alone, with those above it that are missing; `false` where
 * it is there already.
 */
export async function makeDirectoryDurably(path: string): Promise<boolean> {
  if (await isThere(path)) return false;
  const parent = dirname(path);
  if (parent !== path) await makeDirectoryDurably(parent);
  // of several that make it at once, each finds it made
  await Deno.mkdir(path, { recursive: true, mode: 0o700 });
  await syncDirectory(parent);
  return true;
}

/** Has the content of a file on disk. */
export async function syncFile(path: string): Promise<void> {
  using file = await Deno.open(path, { read: true, write: true });
  await file.sync();
}

/** What systems say that sync no directories: their names are on disk with the content of files. */
const NOT_FOR_DIRECTORIES = new Set<unknown>(["EINVAL", "EBADF", "EISDIR", "EACCES", "EPERM"]);

/** Has the names in a directory on disk, as `fsync` of a file does with its content. */
export async function syncDirectory(path: string): Promise<void> {
  try {
    using directory = await Deno.open(path);
    await directory.sync();
  } catch (error) {
    if (!NOT_FOR_DIRECTORIES.has((error as { readonly code?: unknown }).code)) throw error;
  }
}

/** How a file gets its content and its name. */
interface Beside {
  readonly mode: number;
  readonly rename: (from: string, to: string) => Promise<void>;
}

const partOf = (path: string) => `${path}.part`;

async function writeBeside(path: string, text: string, { mode, rename }: Beside): Promise<void> {
  const part = partOf(path);
  try {
    await Deno.remove(part).catch(() => {}); // of one that was killed
    await Deno.writeTextFile(part, text, { createNew: true, mode });
    await syncFile(part);
    await rename(part, path);
    await syncDirectory(dirname(path));
  } finally {
    await Deno.remove(part).catch(() => {}); // gone already where it was renamed
  }
}

/** A second name refuses to take the place of a file, which renaming does not. */
async function nameUnlessThere(from: string, to: string): Promise<void> {
  try {
    await Deno.link(from, to);
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) throw error;
    // a file system without second names
    if (await isThere(to)) throw new Deno.errors.AlreadyExists(to);
    await Deno.rename(from, to);
  }
}

/** Whether something has this name, a link that leads nowhere included. */
export async function isThere(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
