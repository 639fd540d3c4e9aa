/**
 * What is for databases in a file alone.
 *
 * @module
 */

import type { DataDir } from "../base/data_dir.ts";
import { AppError } from "../base/errors.ts";
import { isShared } from "./check_storage.ts";

/** Work on a database. */
type Work = "db.backup" | "db.check" | "db.restore" | "db.usage" | "db.vacuum";

/** What does it for PostgreSQL, where svc itself does not. */
const INSTEAD: { readonly [Name in Work]?: string } = {
  "db.backup": "use pg_dump, or the backups of your PostgreSQL",
  "db.restore": "use pg_restore, or the backups of your PostgreSQL",
  "db.vacuum": "its autovacuum does that by itself",
};

/**
 * Refuses work on the database that is for files alone, where several daemons share one.
 *
 * @throws {AppError} `refused`, with what to use instead.
 */
export async function refuseShared(work: Work, dir: DataDir): Promise<void> {
  const instead = INSTEAD[work];
  if (instead === undefined || !await isShared(dir)) return;
  const command = `svc ${work.replace(".", " ")}`;
  throw new AppError(
    "refused",
    `"${command}" is for a database in a file, but this one is shared: ${instead}`,
  );
}
