/**
 * What is for databases in a file alone.
 *
 * @module
 */

import type { DataDir } from "../base/data_dir.ts";
import { AppError } from "../base/errors.ts";
import { isShared } from "./check_storage.ts";

/** Work on a database, and what PostgreSQL has for it. */
const INSTEAD = {
  "db.backup": "pg_dump, or the backups of your PostgreSQL",
  "db.restore": "pg_restore, or the backups of your PostgreSQL",
  "db.vacuum": "nothing: autovacuum does it",
} as const;

/**
 * Refuses work on the database where several daemons share one.
 *
 * @throws {AppError} `refused`, with what to use instead.
 */
export async function refuseShared(work: keyof typeof INSTEAD, dir: DataDir): Promise<void> {
  if (!await isShared(dir)) return;
  const command = `svc ${work.replace(".", " ")}`;
  throw new AppError(
    "refused",
    `"${command}" is for a database in a file, and this one is shared: use ${INSTEAD[work]}`,
  );
}
