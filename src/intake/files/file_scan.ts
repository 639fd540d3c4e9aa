/**
 * Scans the files of a workspace that globs match, and compares two scans. A scan stays inside the
 * workspace: it follows no links to directories, and links to files only if those are in the
 * workspace.
 *
 * @module
 */

import { dirname, join } from "node:path";
import type { FileGlobs } from "./file_globs.ts";

/** The result of a scan. Paths are relative to the workspace, whose own path is empty. */
export interface FileScan {
  /** Every file that matches, with a stamp that changes when the file does. */
  readonly files: ReadonlyMap<string, string>;
  /** Directories to watch, each with an identity that changes when the directory is replaced. */
  readonly directories: ReadonlyMap<string, string>;
  /** Files and directories that exist and could not be read. */
  readonly unreadable: readonly string[];
  /** Directories named in a glob that lead out of the workspace. */
  readonly outside: readonly string[];
}

/** The change of a file between two scans. */
export interface FileChange {
  readonly event: "create" | "modify" | "delete";
  /** Relative to the workspace. */
  readonly path: string;
  /** Identifies the state of the file: two changes of one file differ in it. */
  readonly stamp: string;
}

/** Files and directories that are read at the same time. */
const BATCH_SIZE = 32;

/**
 * Scans the files below `root`, a real path, that `globs` match; visits at most `most` files and
 * directories.
 *
 * @returns `undefined` if there are more, or `signal` aborts.
 * @throws {Deno.errors.NotFound} if `root` no longer exists.
 */
export async function scanFiles(
  root: string,
  globs: FileGlobs,
  { signal, most }: { signal: AbortSignal; most: number },
): Promise<FileScan | undefined> {
  const scan = new Scan({ root, globs, most });
  await scan.begin();
  while (scan.goesOn() && !signal.aborted) await scan.step();
  return signal.aborted || scan.isTooMuch() ? undefined : scan;
}

class Scan implements FileScan {
  readonly files = new Map<string, string>();
  readonly directories = new Map<string, string>();
  readonly unreadable: string[] = [];
  readonly outside: string[] = [];
  readonly #options: { readonly root: string; readonly globs: FileGlobs; readonly most: number };
  /** Directories that are not read yet. */
  readonly #directories: string[] = [];
  /** Entries without a stamp yet. */
  readonly #entries: Deno.DirEntry[] = [];
  /** Files and directories visited so far. */
  #visited = 0;

  constructor(options: { root: string; globs: FileGlobs; most: number }) {
    this.#options = options;
  }

  isTooMuch(): boolean {
    return this.#visited > this.#options.most;
  }

  async begin(): Promise<void> {
    const { root, globs } = this.#options;
    await Deno.stat(root);
    for (const base of globs.bases.filter((base) => !globs.isIgnored(base))) {
      await this.#beginAt(base);
    }
  }

  goesOn(): boolean {
    return this.#directories.length + this.#entries.length > 0 && !this.isTooMuch();
  }

  async step(): Promise<void> {
    const entries = this.#entries.splice(0, BATCH_SIZE);
    const work = entries.length > 0
      ? entries.map((entry) => this.#stamp(entry))
      : this.#directories.splice(0, BATCH_SIZE).map((directory) => this.#read(directory));
    await Promise.all(work);
  }

  /** Begins at a base; if it does not exist, the nearest directory above is watched for it. */
  async #beginAt(base: string): Promise<void> {
    const { root } = this.#options;
    for (let path = base;; path = above(path)) {
      const directory = await findDirectory(join(root, path));
      if (directory !== undefined && !isInside(directory.real, root)) {
        this.outside.push(path);
        return;
      }
      if (directory !== undefined) {
        this.directories.set(path, directory.identity);
        if (path === base) this.#directories.push(base);
      }
      if (directory !== undefined || path === "") return;
    }
  }

  async #read(directory: string): Promise<void> {
    const { root, globs } = this.#options;
    try {
      for await (const entry of Deno.readDir(join(root, directory))) {
        if (++this.#visited > this.#options.most) return;
        const path = directory === "" ? entry.name : `${directory}/${entry.name}`;
        const matches = entry.isDirectory ? globs.enters(path) : globs.matches(path);
        if (matches) this.#entries.push({ ...entry, name: path });
      }
    } catch (error) {
      if (!isGone(error)) this.unreadable.push(directory);
    }
  }

  async #stamp({ name: path, isDirectory, isSymlink }: Deno.DirEntry): Promise<void> {
    const { root } = this.#options;
    const full = join(root, path);
    try {
      if (isSymlink && !isInside(await Deno.realPath(full), root)) return;
      const info = isSymlink ? await Deno.stat(full) : await Deno.lstat(full);
      if (isDirectory && info.isDirectory) {
        this.directories.set(path, identityOf(info));
        this.#directories.push(path);
      } else if (info.isFile) this.files.set(path, stampOf(info));
    } catch (error) {
      if (!isGone(error)) this.unreadable.push(path);
    }
  }
}

/**
 * The changes between two scans, by path. Files that the second scan could not read count as
 * unchanged.
 *
 * @returns The changes, and the present files.
 */
export function compareScans(
  before: ReadonlyMap<string, string>,
  now: FileScan,
): { changes: readonly FileChange[]; files: ReadonlyMap<string, string> } {
  const changes: FileChange[] = [];
  const hidden = new Map<string, string>();
  for (const [path, stamp] of before) {
    if (now.files.has(path)) continue;
    if (now.unreadable.some((dir) => dir === "" || path === dir || path.startsWith(`${dir}/`))) {
      hidden.set(path, stamp);
    } else changes.push({ event: "delete", path, stamp });
  }
  for (const [path, stamp] of now.files) {
    const known = before.get(path);
    if (known === stamp) continue;
    changes.push({ event: known === undefined ? "create" : "modify", path, stamp });
  }
  changes.sort((a, b) => a.path < b.path ? -1 : a.path > b.path ? 1 : 0);
  return { changes, files: hidden.size === 0 ? now.files : new Map([...now.files, ...hidden]) };
}

async function findDirectory(
  path: string,
): Promise<{ real: string; identity: string } | undefined> {
  try {
    const info = await Deno.stat(path);
    if (!info.isDirectory) return undefined;
    return { real: await Deno.realPath(path), identity: identityOf(info) };
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

function above(path: string): string {
  const parent = dirname(path);
  return parent === "." ? "" : parent;
}

function isInside(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith("/") ? root : `${root}/`);
}

function identityOf({ dev, ino }: Deno.FileInfo): string {
  return `${dev}:${ino}`;
}

function stampOf({ mtime, size, ino }: Deno.FileInfo): string {
  return `${mtime?.getTime()}:${size}:${ino}`;
}

function isGone(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory ||
    error instanceof Deno.errors.FilesystemLoop;
}
