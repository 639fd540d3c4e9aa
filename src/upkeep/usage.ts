/**
 * `svc db usage`: measures the use of the disk, in the database by trigger, and in the data directory
 * by purpose.
 *
 * @module
 */

import { basename, join } from "node:path";
import type { DataDir } from "../base/data_dir.ts";
import { bytesOnDisk, findDiskSpace } from "../base/disk_space.ts";
import { namesIn } from "../base/names_in.ts";
import { BEFORE_MIGRATION } from "../storage/copy_before_migration.ts";
import { MOVED_FILE } from "../storage/moved_storage.ts";
import { measureSharedUsage } from "../storage/inspect_shared_database.ts";
import type { Progress } from "../store/maintenance.ts";
import { measureWholeFile } from "../store/sqlite/maintenance/run_job.ts";
import type { DatabaseUsage } from "../store/usage.ts";
import { findKept, KEPT_SUFFIX } from "../tasks/workspace/kept_commits.ts";
import type { KeptCommits } from "../tasks/workspace/git_worktree.ts";
import { isDatabase } from "./back_up.ts";

/** Settings of a measurement. */
export interface UsageRequest {
  /** Whether no daemon uses the database meanwhile. */
  readonly alone: boolean;
  /** Reads an environment variable. */
  readonly env: (name: string) => string | undefined;
}

/** The use of the disk by the database of a data directory. */
interface OwnDatabaseUsage extends DatabaseUsage {
  /** Path of the file; a description if the database is shared. */
  readonly database: string;
  readonly isShared: boolean;
  /** Size of the write-ahead log in bytes. */
  readonly walBytes: number;
}

/** The use of the disk. */
export interface Usage extends OwnDatabaseUsage {
  /** The other parts of the data directory, the largest first. */
  readonly entries: readonly Entry[];
  /** Size of the whole data directory. */
  readonly totalBytes: number;
  /** `undefined` if it cannot be read. */
  readonly diskFreeBytes: number | undefined;
  /** Number of refs that hold commits of tasks, by repository. */
  readonly keptCommits: readonly { readonly repository: string; readonly refs: number }[];
}

/** A part of the data directory. */
export interface Entry {
  /** Name; that of a directory ends with a slash. */
  readonly name: string;
  readonly kind: EntryKind;
  /** Bytes on the disk. */
  readonly bytes: number;
  readonly files: number;
}

/** Directories of the data directory that grow. */
const GROWING = ["logs", "worktrees", "copies", "sessions", "workspaces"] as const;

/** The purpose of a part of the data directory. */
type EntryKind = typeof GROWING[number] | "old_database" | "backup" | "other";

/** The fraction of the progress for the database. */
const DATABASE_PART = 0.8;
/** Files whose sizes are read at once. */
const FILES_AT_ONCE = 32;

/**
 * Measures; yields its progress. Files that come or go meanwhile may be counted or not.
 *
 * @throws {AppError} `refused` or `overloaded` if the database cannot be read.
 */
export async function* measureUsage(
  { alone, env }: UsageRequest,
  dirs: DataDir,
  signal?: AbortSignal,
): AsyncGenerator<Progress, Usage, undefined> {
  const database = yield* scaled(DATABASE_PART, measureDatabase({ alone, env }, dirs, signal));
  const entries = yield* measureDirectory(dirs, signal);
  const own = database.isShared ? 0 : database.bytes + database.walBytes;
  return {
    ...database,
    entries: entries.toSorted((one, other) => other.bytes - one.bytes),
    totalBytes: own + entries.reduce((sum, { bytes }) => sum + bytes, 0),
    diskFreeBytes: (await findDiskSpace(dirs.root))?.freeBytes,
    keptCommits: await findKeptCommits(dirs.worktrees),
  };
}

async function* measureDatabase(
  { alone, env }: UsageRequest,
  dirs: DataDir,
  signal: AbortSignal | undefined,
): AsyncGenerator<Progress, OwnDatabaseUsage, undefined> {
  const shared = yield* measureSharedUsage(dirs, env);
  if (shared !== undefined) return { ...shared, isShared: true, walBytes: 0 };
  const { database, logs } = dirs;
  const usage = yield* measureWholeFile({ path: database, logs, alone }, signal);
  const walBytes = await Deno.stat(`${database}-wal`).then(({ size }) => size, () => 0);
  return { ...usage, database, isShared: false, walBytes };
}

async function* scaled<Result>(
  part: number,
  work: AsyncGenerator<Progress, Result, undefined>,
): AsyncGenerator<Progress, Result, undefined> {
  await using _ended = work;
  for (;;) {
    const step = await work.next();
    if (step.done === true) return step.value;
    yield { fraction: step.value.fraction * part };
  }
}

/** The parts of the data directory without its database; all that do not grow are one part. */
async function* measureDirectory(
  dirs: DataDir,
  signal: AbortSignal | undefined,
): AsyncGenerator<Progress, readonly Entry[], undefined> {
  const ofDatabase = new Set(
    ["", "-wal", "-shm"].map((suffix) => basename(dirs.database) + suffix),
  );
  const names = (await Array.fromAsync(namesIn(dirs.root))).filter((name) => !ofDatabase.has(name));
  const entries: Entry[] = [];
  const linked = new Set<string>();
  let other: Entry = { name: "other", kind: "other", bytes: 0, files: 0 };
  for (const [done, name] of names.entries()) {
    const progress = { fraction: DATABASE_PART + (1 - DATABASE_PART) * done / names.length };
    yield progress;
    const path = join(dirs.root, name);
    const kind = kindOf(path, dirs);
    let [bytes, files] = [0, 0];
    for await (const sizes of sizesIn(path, linked)) {
      signal?.throwIfAborted();
      bytes += sizes.bytes;
      files += sizes.files;
      yield progress;
    }
    if (kind === "other") {
      other = { ...other, bytes: other.bytes + bytes, files: other.files + files };
    } else {
      const isDirectory = GROWING.some((name) => name === kind);
      entries.push({ name: isDirectory ? `${name}/` : name, kind, bytes, files });
    }
  }
  return [...entries, other];
}

function kindOf(path: string, dirs: DataDir): EntryKind {
  const directory = GROWING.find((name) => dirs[name] === path);
  if (directory !== undefined) return directory;
  const isOld = [".before-restore-", BEFORE_MIGRATION, MOVED_FILE]
    .some((suffix) => path.startsWith(`${dirs.database}${suffix}`));
  if (isOld) return "old_database";
  return isDatabaseFile(path) ? "backup" : "other";
}

function isDatabaseFile(path: string): boolean {
  try {
    return Deno.lstatSync(path).isFile && isDatabase(path);
  } catch {
    return false;
  }
}

/**
 * Sizes on the disk of a file, or of all files in a directory, some files at a time. Links are not
 * followed; a file with several names counts once.
 */
async function* sizesIn(
  path: string,
  linked: Set<string>,
): AsyncGenerator<{ readonly bytes: number; readonly files: number }> {
  const waiting = [path];
  for (;;) {
    const paths = waiting.splice(-FILES_AT_ONCE);
    if (paths.length === 0) return;
    let [bytes, files] = [0, 0];
    const infos = await Promise.all(paths.map((path) => Deno.lstat(path).catch(() => undefined)));
    for (const [at, info] of infos.entries()) {
      if (info === undefined) continue; // it was removed meanwhile
      const inode = `${info.dev} ${info.ino}`;
      const isCounted = info.isFile && (info.nlink ?? 1) > 1 && linked.has(inode);
      if (info.isFile && (info.nlink ?? 1) > 1) linked.add(inode);
      if (!isCounted) bytes += bytesOnDisk(info);
      if (!info.isDirectory) files++;
      else for (const inner of await pathsIn(paths[at] ?? "")) waiting.push(inner);
    }
    yield { bytes, files };
  }
}

async function pathsIn(directory: string): Promise<readonly string[]> {
  const names = await Array.fromAsync(namesIn(directory)).catch(() => []); // may not be read
  return names.map((name) => join(directory, name));
}

/** The repositories that keep commits of tasks. */
async function findKeptCommits(worktrees: string): Promise<Usage["keptCommits"]> {
  const refs = new Map<string, number>();
  for await (const name of namesIn(worktrees)) {
    if (!name.endsWith(KEPT_SUFFIX)) continue;
    const kept = findKeptOf(worktrees, name.slice(0, -KEPT_SUFFIX.length));
    if (kept === undefined || kept.refs.length === 0) continue;
    refs.set(kept.repository, (refs.get(kept.repository) ?? 0) + kept.refs.length);
  }
  return [...refs].map(([repository, refs]) => ({ repository, refs }))
    .toSorted((one, other) => other.refs - one.refs);
}

function findKeptOf(worktrees: string, taskId: string): KeptCommits | undefined {
  try {
    return findKept(worktrees, taskId);
  } catch {
    return undefined; // the removal of the task reports the fault
  }
}
