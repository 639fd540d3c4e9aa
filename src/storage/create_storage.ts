/**
 * Makes what a daemon keeps, for `svc init`: a file in the data directory, or its place in a
 * PostgreSQL that several daemons share.
 *
 * @module
 */

import type { WallClock } from "../base/clock.ts";
import type { DataDir } from "../base/data_dir.ts";
import { AppError } from "../base/errors.ts";
import type { NewId } from "../base/ids.ts";
import type { Resource } from "../resources/resource.ts";
import { readKeyFile } from "../secrets/key_file.ts";
import { keyIdOf } from "../secrets/key_id.ts";
import { holdsPassword } from "../store/postgres/database/database_url.ts";
import { createDatabase } from "../store/sqlite/create_database.ts";
import { addressOf, findSharedDatabase, writeSharedDatabase } from "./shared_database.ts";

/** What several daemons are to share, as `svc init` is told. */
export interface SharedStorage {
  /** `postgres://user@host/database`. */
  readonly url: string;
  /** Name of this node. */
  readonly name: string;
}

/** What is made, and of what. */
export interface NewStorage {
  /** A file in the data directory when absent. */
  readonly shared?: SharedStorage;
  /** Stored where there are none yet. */
  readonly resources: readonly Resource[];
  readonly env: (name: string) => string | undefined;
  readonly newId: NewId;
  readonly clock: WallClock;
}

/**
 * Makes whatever is not there yet.
 *
 * @returns The paths that were made.
 * @throws {AppError} `refused` when what is there does not go with it.
 */
export async function createStorage(dir: DataDir, given: NewStorage): Promise<readonly string[]> {
  const { shared, resources, env, newId, clock } = given;
  const known = await findSharedDatabase(dir);
  if (known === undefined && shared === undefined) {
    return createDatabase(dir.database, resources) ? [dir.database] : [];
  }
  if (shared !== undefined && holdsPassword(shared.url)) {
    throw new AppError(
      "refused",
      `The address of the database holds a password, and everybody on this machine can read command lines: write it into ~/.pgpass, or set SVC_DATABASE_URL to the whole address`,
    );
  }
  if (shared !== undefined && known !== undefined && known.url !== shared.url) {
    throw new AppError(
      "refused",
      `"${dir.databaseUrl}" names another database: give that one, or another --data-dir`,
    );
  }
  if (shared !== undefined && await isThere(dir.database)) {
    throw new AppError(
      "refused",
      `This data directory has a database in a file, "${dir.database}", which cannot be moved to PostgreSQL: give another --data-dir`,
    );
  }
  const node = known?.node ?? { id: newId(), name: shared?.name ?? "" };
  const url = known?.url ?? shared?.url ?? "";
  const { createSharedDatabase } = await import("../store/postgres/create_database.ts");
  const owner = { node: node.id, run: newId() };
  const keyId = await keyIdOf(await readKeyFile(dir.secretKey));
  const { name } = node;
  await createSharedDatabase({
    url: addressOf(url, env),
    owner,
    name,
    env,
    clock,
    keyId,
    resources,
  });
  if (known !== undefined) return [];
  await writeSharedDatabase(dir, { url, node });
  return [dir.node, dir.databaseUrl];
}

async function isThere(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(() => true, () => false);
}
