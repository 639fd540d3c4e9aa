/**
 * What is for databases in a file alone.
 *
 * @module
 */

import type { DataDir } from "../base/data_dir.ts";
import { AppError } from "../base/errors.ts";
import { isShared } from "./check_storage.ts";

/** Work on a database, and what does it for PostgreSQL. */
const INSTEAD = {
  "db.backup": "use pg_dump, or the backups of your PostgreSQL",
  "db.check": 'use pg_amcheck, and "svc audit verify"',
  "db.restore": "use pg_restore, or the backups of your PostgreSQL",
  "db.vacuum": "its autovacuum does that by itself",
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
    `"${command}" is for a database in a file, and this one is shared: ${INSTEAD[work]}`,
  );
}
