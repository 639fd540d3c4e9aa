/**
 * Makes a new database file with its first resources, and leaves an existing one unchanged.
 *
 * @module
 */

import type { Resource } from "../../resources/resource.ts";
import { refuseOtherSchema } from "./engine/check_schema.ts";
import { Database } from "./engine/database.ts";
import { checkVersion, migrate } from "./engine/migrations.ts";
import { changeResources } from "./resources/resource_rows.ts";

/**
 * Makes the database at `path`, or finishes an incomplete one; `false` when it was complete.
 *
 * @throws {AppError} `refused` when an existing file must not be touched.
 */
export function createDatabase(path: string, resources: readonly Resource[]): boolean {
  if (fileExists(path) && checkVersion(path) > 0) return false;
  using db = new Database(path);
  refuseOtherSchema(db);
  migrate(db);
  db.transaction(() => changeResources(db, resources.map((resource) => ({ op: "put", resource }))));
  return true;
}

function fileExists(path: string): boolean {
  try {
    const { isFile, size } = Deno.statSync(path);
    return !isFile || size > 0;
  } catch {
    return false;
  }
}
