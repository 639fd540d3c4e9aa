/**
 * Writes a database file anew, page by page as its rows stand now.
 *
 * @module
 */

import { Database, fromSqliteError } from "./engine/database.ts";
import { checkDatabase } from "./engine/migrations.ts";

/**
 * Has only what is stored in the file at `path`: copies of rows that were left in unused bytes of
 * pages go. The data directory has to be locked. Takes as much room again meanwhile, and is whole or
 * not at all when it is killed.
 *
 * @returns Bytes of the file before and after.
 * @throws {AppError} `refused` when it is no database of this program; `overloaded` when it cannot be
 * written.
 */
export function rewriteFile(path: string): { readonly before: number; readonly after: number } {
  checkDatabase(path);
  const before = Deno.statSync(path).size;
  try {
    using db = new Database(path);
    db.exec("PRAGMA temp_store = FILE"); // the whole of it, which may be more than memory holds
    db.exec("VACUUM");
    db.foldLog();
  } catch (error) {
    throw fromSqliteError(error);
  }
  return { before, after: Deno.statSync(path).size };
}
