/**
 * Looks at what a data directory keeps, before anything is opened or made.
 *
 * @module
 */

import type { DataDir } from "../base/data_dir.ts";
import { checkDatabase } from "../store/sqlite/engine/migrations.ts";

/** Whether its database is one that several daemons share. */
export async function isShared(dir: DataDir): Promise<boolean> {
  return await Deno.lstat(dir.databaseUrl).then(() => true, () => false);
}

/**
 * Refuses a database in a file that cannot be used; one that is shared is looked at when it is
 * opened.
 *
 * @throws {AppError} `refused`.
 */
export async function checkStorage(dir: DataDir): Promise<void> {
  if (!await isShared(dir)) checkDatabase(dir.database);
}
