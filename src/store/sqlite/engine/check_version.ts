/**
 * Whether a file is a database that this program can open, looked at before anything is changed.
 *
 * @module
 */

import { AppError, messageOf } from "../../../base/errors.ts";
import { Database, fromSqliteError, isMalformed, isThere, toRead } from "./database.ts";
import { SCHEMA_VERSION, versionOf } from "./migrations.ts";

/**
 * Refuses a database that this program must not touch. No other process may use it meanwhile.
 * Changes nothing, but for a transaction that was cut off, which it undoes, and removes no file:
 * one that lies beside the database may be another program's.
 *
 * @returns Its version; 0 when it was never finished.
 * @throws {AppError} `refused` when the file is damaged or written by a newer version.
 */
export function checkVersion(path: string): number {
  if (!isOpenable(path)) throw new AppError("refused", `"${path}" is not a file: move it away`);
  const version = readVersion(path);
  if (version < 0) {
    throw new AppError("refused", `"${path}" is not a database of svc: move it away`);
  }
  if (version <= SCHEMA_VERSION) return version;
  throw new AppError(
    "refused",
    `The database "${path}" was written by a newer svc (schema ${version}, this one knows ${SCHEMA_VERSION}): install that version`,
  );
}

/**
 * Like {@linkcode checkVersion}, for a database that has to be complete.
 *
 * @throws {AppError} `refused`, also when it was never finished.
 */
export function checkDatabase(path: string): void {
  if (checkVersion(path) > 0) return;
  throw new AppError("refused", `The database "${path}" is empty: run "svc init"`);
}

function readVersion(path: string): number {
  try {
    using db = new Database(path, toRead(path));
    db.get("SELECT count(*) FROM sqlite_schema");
    return versionOf(db);
  } catch (cause) {
    const error = fromSqliteError(cause);
    const mayBeSound = error instanceof AppError && !isMalformed(cause) && isThere(path);
    const remedy = mayBeSound
      ? "check that you can read and write the file and its directory"
      : 'restore it from a backup, or move it away and run "svc init"';
    const message = `The database "${path}" cannot be read (${messageOf(cause)}): ${remedy}`;
    throw new AppError("refused", message, { cause });
  }
}

/** Whether opening it comes to an end, as it does not for a pipe. */
export function isOpenable(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return true; // SQLite says why not
  }
}
