/**
 * Makes the storage of a daemon for `svc init`: a file in the data directory, or a node in a
 * PostgreSQL that several daemons share.
 *
 * @module
 */

import type { WallClock } from "../base/clock.ts";
import type { DataDir } from "../base/data_dir.ts";
import { isThere } from "../base/durable_files.ts";
import { AppError } from "../base/errors.ts";
import type { NewId } from "../base/ids.ts";
import type { Resource } from "../resources/resource.ts";
import { readKeyFile, type Sealed } from "../secrets/key_file.ts";
import { keyIdOf } from "../secrets/keyring.ts";
import { createDatabase, findSecretStores, isComplete } from "../store/sqlite/create_database.ts";
import {
  addressOf,
  findSharedDatabase,
  refuseAddress,
  type SharedDatabase,
  writeSharedDatabase,
} from "./shared_database.ts";

/** The options of `svc init` for a database that several daemons share. */
export interface SharedStorage {
  /** The address, as `postgres://user@host/database`. */
  readonly url: string;
  /** Name of this node. */
  readonly name: string;
}

/** The storage that `svc init` makes. */
export interface NewStorage {
  /** A file in the data directory when absent. */
  readonly shared?: SharedStorage | undefined;
  /** Stored in a database that has none yet. */
  readonly resources: readonly Resource[];
  readonly env: (name: string) => string | undefined;
  readonly newId: NewId;
  readonly clock: WallClock;
  /** Called with a sentence about a migration. */
  readonly onNote?: ((text: string) => void) | undefined;
}

/** A storage that is checked, and not made yet. */
export interface PlannedStorage {
  readonly isShared: boolean;
  /**
   * Checks an existing database; the data directory has to be locked.
   *
   * @throws {AppError} `refused` when it cannot be used.
   */
  check(): void;
  /**
   * The values that are sealed with the key of the data directory; `undefined` if there are none.
   *
   * @param keyId Id of the key that will be used, if the data directory has none yet.
   * @throws {AppError} `refused` when the database has another key.
   */
  findSealed(keyId?: string): Promise<Sealed | undefined>;
  /**
   * Makes the missing parts.
   *
   * @returns The paths that were made.
   * @throws {AppError} `refused` when an existing part does not fit.
   */
  make(): Promise<readonly string[]>;
}

/**
 * Checks what the data directory has already.
 *
 * @throws {AppError} `refused` when that does not fit.
 */
export async function planStorage(dir: DataDir, options: NewStorage): Promise<PlannedStorage> {
  const { shared, env } = options;
  const known = findSharedDatabase(dir);
  if (known === undefined && shared === undefined) return inFile(dir, options);
  if (shared !== undefined) refuseAddress(shared.url, env, "--database");
  if (shared !== undefined && known !== undefined && known.url !== shared.url) {
    throw new AppError(
      "refused",
      `"${dir.databaseUrl}" names another database: give the same one, or another --data-dir`,
    );
  }
  if (shared !== undefined && await isThere(dir.database)) {
    throw new AppError(
      "refused",
      `This data directory has a database in a file, "${dir.database}", which "svc db move" moves to PostgreSQL: run that, or give another --data-dir`,
    );
  }
  const node = known?.node ?? { id: options.newId(), name: shared?.name ?? "" };
  const url = known?.url ?? shared?.url ?? "";
  return inPostgres(dir, { ...options, isKnown: known !== undefined, database: { url, node } });
}

function inFile(dir: DataDir, { resources }: NewStorage): PlannedStorage {
  return {
    isShared: false,
    check: () => void isComplete(dir.database),
    findSealed() {
      const names = findSecretStores(dir.database).map(({ name }) => `"${name}"`);
      const [first] = names;
      if (first === undefined) return Promise.resolve(undefined);
      const what = names.length === 1
        ? `SecretStore ${first} is`
        : `${names.length} SecretStores are`;
      return Promise.resolve({ says: `${what} sealed with it` });
    },
    make: async () => await createDatabase(dir.database, resources) ? [dir.database] : [],
  };
}

interface PlannedNode extends NewStorage {
  /** Whether the data directory names the database already. */
  readonly isKnown: boolean;
  readonly database: SharedDatabase;
}

function inPostgres(dir: DataDir, planned: PlannedNode): PlannedStorage {
  const { isKnown, database: { url, node }, resources, env, newId, clock, onNote } = planned;
  const to = {
    url: addressOf(url, env),
    owner: { node: node.id, run: newId() },
    name: node.name,
    env,
    clock,
  };
  return {
    isShared: true,
    check() {}, // `findSealed` and `make` open the database, which checks it
    async findSealed(keyId) {
      const { findKeyId } = await import("../store/postgres/create_database.ts");
      const own = await findKeyId(to);
      if (own === "") return undefined;
      if (keyId !== undefined && keyId !== own) {
        throw new AppError(
          "refused",
          `The secrets of the database are sealed with key ${own}, and the file is key ${keyId}: give the file of a daemon that shares the database`,
        );
      }
      return {
        says: `the secrets of the database are sealed with key ${own}`,
        instead: `give "secrets/secretstore.key" of a daemon that shares the database (--key-file)`,
      };
    },
    async make() {
      const { createSharedDatabase } = await import("../store/postgres/create_database.ts");
      const keyId = await keyIdOf(await readKeyFile(dir.secretKey));
      await createSharedDatabase({ ...to, keyId, resources, onNote });
      if (isKnown) return [];
      await writeSharedDatabase(dir, { url, node });
      return [dir.node, dir.databaseUrl];
    },
  };
}
