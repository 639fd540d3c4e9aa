/**
 * `svc db backup`: makes a complete copy of the database under another name, or none. The copy does
 * not have the key of the secrets, so a lost copy discloses none.
 *
 * @module
 */

import { dirname, isAbsolute } from "node:path";
import type { DataDir } from "../base/data_dir.ts";
import { AppError } from "../base/errors.ts";
import { fileFault } from "../base/file_fault.ts";
import { RegularFile } from "../base/regular_file.ts";
import type { BackupFacts, Progress } from "../store/maintenance.ts";
import { copyFile } from "../store/sqlite/maintenance/copy_file.ts";

/** A copy to make. */
export interface BackupRequest {
  /** Absolute path of the copy, on the machine of the data directory. */
  readonly file: string;
  /** Whether it may replace an earlier copy. */
  readonly force: boolean;
}

/** The facts of a finished backup. */
export interface BackupResult extends BackupFacts {
  readonly file: string;
  /** The key file, of which the user needs a copy too, in another place. */
  readonly keyFile: string;
}

/**
 * Copies the database, even while it is in use; yields its progress. Ending the iteration early or
 * by `signal` leaves nothing behind.
 *
 * @throws {AppError} `usage`, `refused` or `overloaded`; an earlier copy then stays.
 */
export async function* backUp(
  { file, force }: BackupRequest,
  dirs: DataDir,
  signal?: AbortSignal,
): AsyncGenerator<Progress, BackupResult, undefined> {
  if (!isAbsolute(file)) throw new AppError("usage", `"${file}" is not an absolute path`);
  await checkTarget(file, { force, database: dirs.database });
  try {
    const facts = yield* copyFile({ from: dirs.database, to: file }, signal);
    return { file, ...facts, keyFile: dirs.secretKey };
  } catch (cause) {
    if (cause instanceof AppError && cause.code !== "overloaded") throw cause;
    const fault = cause instanceof Deno.errors.NotFound
      ? `the directory "${dirname(file)}" does not exist`
      : fileFault(cause);
    throw new AppError("refused", `Cannot write "${file}": ${fault}`, { cause });
  }
}

/** Checks what `--force` may overwrite: an earlier copy, and nothing else. */
async function checkTarget(
  file: string,
  { force, database }: { force: boolean; database: string },
): Promise<void> {
  const existing = await Deno.lstat(file).catch((cause) => {
    if (cause instanceof Deno.errors.NotFound) return undefined;
    throw new AppError("refused", `Cannot write "${file}": ${fileFault(cause)}`, { cause });
  });
  if (existing === undefined) return;
  if (!force) {
    throw new AppError("refused", `"${file}" exists: give another name, or --force`);
  }
  const used = await Deno.lstat(database);
  const isUsed = existing.dev === used.dev && existing.ino === used.ino;
  if (isUsed || !existing.isFile || !isDatabase(file)) {
    throw new AppError("refused", `"${file}" is not an earlier backup: give another name`);
  }
}

const MAGIC = "SQLite format 3\0";

/** Whether a file begins with the header of SQLite. */
export function isDatabase(path: string): boolean {
  using file = RegularFile.open(path);
  const head = new Uint8Array(MAGIC.length);
  return file.readSync(head) === MAGIC.length && new TextDecoder().decode(head) === MAGIC;
}
