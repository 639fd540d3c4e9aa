/**
 * Copies the database before this program migrates it, so that the earlier version of svc can still
 * be used: it opens the copy.
 *
 * @module
 */

import { basename, dirname, join } from "node:path";
import { type Clock, timeInName } from "../base/clock.ts";
import type { DataDir } from "../base/data_dir.ts";
import { type DiskSpace, findDiskSpace } from "../base/disk_space.ts";
import { AppError, messageOf } from "../base/errors.ts";
import { fileFault } from "../base/file_fault.ts";
import { sizeText } from "../base/size.ts";
import { checkVersion } from "../store/sqlite/engine/check_version.ts";
import { SCHEMA_VERSION } from "../store/sqlite/engine/migrations.ts";
import { copyFile, isPart } from "../store/sqlite/maintenance/copy_file.ts";

/** The parts of the daemon, or of a command, that a copy needs. */
export interface MigrationHost {
  readonly clock: Clock;
  /** Called with a sentence that says what was done, without a full stop. */
  readonly onNote?: ((text: string) => void) | undefined;
  /** Measures a disk; by the system when absent. */
  readonly findSpace?: (path: string) => Promise<DiskSpace | undefined>;
}

/** Bytes of free disk that the migration itself takes, at least. */
const MIGRATION_BYTES = 16 * 2 ** 20;

/** Name of such a copy, without the time. */
export const BEFORE_MIGRATION = ".before-migration-";

/**
 * Copies the database of a data directory beside itself, if opening it will migrate it. The data
 * directory has to be locked. The copy replaces that of the migration before. If the process is
 * killed meanwhile, the next call begins again: a migration changes the database all at once.
 *
 * @throws {AppError} `refused` when it cannot be copied; nothing is migrated then.
 */
export async function copyBeforeMigration(
  { database }: Pick<DataDir, "database">,
  { clock, onNote = () => {}, findSpace = findDiskSpace }: MigrationHost,
): Promise<void> {
  const version = checkVersion(database);
  if (version === 0 || version === SCHEMA_VERSION) return;
  const versions = `from schema ${version} to ${SCHEMA_VERSION}`;
  const earlier = await copiesOf(database);
  for (const path of earlier.filter(isPart)) await Deno.remove(path);
  const bytes = await sizeOf(database) + await sizeOf(`${database}-wal`);
  const needed = bytes + Math.max(MIGRATION_BYTES, bytes / 10);
  const freeBytes = (await findSpace(dirname(database)))?.freeBytes ?? Infinity;
  if (freeBytes < needed) {
    throw new AppError(
      "refused",
      `"${database}" needs a migration ${versions} and a copy first, which takes ${
        sizeText(needed)
      }, but its disk has ${
        sizeText(freeBytes)
      } left: make room there and start again, nothing was changed`,
    );
  }
  const copy = `${database}${BEFORE_MIGRATION}${timeInName(clock.now())}`;
  onNote(
    `the database is migrated ${versions}; ${copy} is a copy from before, for the old ` +
      "program",
  );
  try {
    for await (const _progress of copyFile({ from: database, to: copy }));
  } catch (cause) {
    const why = cause instanceof AppError ? messageOf(cause) : fileFault(cause);
    throw new AppError(
      "refused",
      `"${database}" needs a migration ${versions}, and svc cannot copy it first (${why}): ` +
        "nothing was changed",
      { cause },
    );
  }
  for (const path of earlier) if (path !== copy) await Deno.remove(path).catch(() => {});
}

/** The copies of earlier migrations, complete or not. */
async function copiesOf(database: string): Promise<string[]> {
  const copies: string[] = [];
  for await (const { name } of Deno.readDir(dirname(database))) {
    if (name.startsWith(`${basename(database)}${BEFORE_MIGRATION}`)) {
      copies.push(join(dirname(database), name));
    }
  }
  return copies;
}

const sizeOf = (path: string) => Deno.stat(path).then(({ size }) => size, () => 0);
