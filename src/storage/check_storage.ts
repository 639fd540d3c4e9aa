/**
 * Looks at the database of a data directory before anything is opened or made: whether it can be
 * used, and whether it can be used for some work.
 *
 * @module
 */

import type { DataDir } from "../base/data_dir.ts";
import { AppError } from "../base/errors.ts";
import { checkDatabase } from "../store/sqlite/engine/check_version.ts";

/** Whether several daemons share the database. */
export async function isShared(dir: DataDir): Promise<boolean> {
  return await Deno.lstat(dir.databaseUrl).then(() => true, () => false);
}

/**
 * Refuses a database in a file that cannot be used. A shared one is checked when it is opened.
 *
 * @throws {AppError} `refused`.
 */
export async function checkStorage(dir: DataDir): Promise<void> {
  if (!await isShared(dir)) checkDatabase(dir.database);
}

type DatabaseWork = "db.backup" | "db.check" | "db.restore" | "db.usage" | "db.vacuum";

/** The replacement for work that svc does on files only. */
const INSTEAD: { readonly [Name in DatabaseWork]?: string } = {
  "db.backup": "use pg_dump, or the backups of your PostgreSQL",
  "db.restore": "use pg_restore, or the backups of your PostgreSQL",
  "db.vacuum": "its autovacuum does that by itself",
};

/**
 * Refuses work that svc does on files only, if several daemons share the database.
 *
 * @throws {AppError} `refused`, with what to use instead.
 */
export async function refuseShared(work: DatabaseWork, dir: DataDir): Promise<void> {
  const instead = INSTEAD[work];
  if (instead === undefined || !await isShared(dir)) return;
  const command = `svc ${work.replace(".", " ")}`;
  throw new AppError(
    "refused",
    `"${command}" is for a database in a file, but this one is shared: ${instead}`,
  );
}
