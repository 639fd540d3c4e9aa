/**
 * Makes a new database file with its first resources, and leaves an existing one unchanged.
 *
 * @module
 */

import { dirname } from "node:path";
import { syncDirectory, syncFile } from "../../base/durable_files.ts";
import { AppError } from "../../base/errors.ts";
import type { Resource } from "../../resources/resource.ts";
import { Database, toRead } from "./engine/database.ts";
import { checkVersion } from "./engine/check_version.ts";
import { migrate } from "./engine/migrations.ts";
import { changeResources, loadResources } from "./resources/resource_rows.ts";

/**
 * Makes the database at `path`, or replaces one that was never finished; `false` when it was
 * complete. The data directory has to be locked. The file is made under another name, so that under
 * its own it is complete, whenever this is killed.
 *
 * @throws {AppError} `refused` when an existing file must not be touched.
 */
export async function createDatabase(
  path: string,
  resources: readonly Resource[],
): Promise<boolean> {
  if (isComplete(path)) return false;
  const part = `${path}.part`;
  await removeAll([part, ...logsOf(part)]); // of one that was killed
  makeComplete(part, resources);
  await syncFile(part);
  await removeAll(logsOf(path)); // SQLite would read those of the unfinished one with the new one
  await syncDirectory(dirname(path));
  await Deno.rename(part, path);
  await syncDirectory(dirname(path));
  return true;
}

/**
 * Whether the database at `path` was finished. The data directory has to be locked.
 *
 * @throws {AppError} `refused` when it must not be touched.
 */
export function isComplete(path: string): boolean {
  if (!fileExists(path)) return false;
  if (checkVersion(path) > 0) return true;
  using db = new Database(path, toRead(path));
  const first = db.get("SELECT type, name FROM sqlite_schema");
  if (first === undefined) return false;
  // what was never finished is replaced: what holds something is another program's
  throw new AppError(
    "refused",
    `"${path}" is not a database of svc, it holds ${first["type"]} "${
      first["name"]
    }": move it away and run "svc init"`,
  );
}

/** The SecretStores in the database at `path`; none where there is no database yet. */
export function findSecretStores(path: string): readonly Resource[] {
  if (!isComplete(path)) return [];
  using db = new Database(path, toRead(path));
  return loadResources(db).filter(({ kind }) => kind === "SecretStore");
}

function makeComplete(path: string, resources: readonly Resource[]): void {
  using db = new Database(path);
  migrate(db);
  db.transactionSync(() =>
    changeResources(db, resources.map((resource) => ({ op: "put", resource })))
  );
  if (!db.foldLog()) throw new AppError("refused", `"${path}" is used by another program`);
}

const logsOf = (path: string) => ["-journal", "-wal", "-shm"].map((end) => `${path}${end}`);

async function removeAll(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    await Deno.remove(path).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
  }
}

function fileExists(path: string): boolean {
  try {
    const { isFile, size } = Deno.statSync(path);
    return !isFile || size > 0;
  } catch {
    return false;
  }
}
