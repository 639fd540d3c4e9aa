/**
 * Makes what a daemon keeps, for `svc init`: a file in the data directory, or its place in a
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
import { holdsPassword } from "../store/postgres/database/database_url.ts";
import { createDatabase, findSecretStores, isComplete } from "../store/sqlite/create_database.ts";
import {
  addressOf,
  findSharedDatabase,
  refuseOtherAddress,
  type SharedDatabase,
  writeSharedDatabase,
} from "./shared_database.ts";

/** What several daemons are to share, as `svc init` is told. */
export interface SharedStorage {
  /** `postgres://user@host/database`. */
  readonly url: string;
  /** Name of this node. */
  readonly name: string;
}

/** What `svc init` is to make, and of what. */
export interface NewStorage {
  /** A file in the data directory when absent. */
  readonly shared?: SharedStorage | undefined;
  /** Stored where there are none yet. */
  readonly resources: readonly Resource[];
  readonly env: (name: string) => string | undefined;
  readonly newId: NewId;
  readonly clock: WallClock;
  /** Told of a migration. */
  readonly onNote?: ((text: string) => void) | undefined;
}

/** What is there and what is to be made: looked at, and nothing made yet. */
export interface PlannedStorage {
  /** Whether it is a database that is shared. */
  readonly isShared: boolean;
  /**
   * Looks at what is there; the data directory has to be locked.
   *
   * @throws {AppError} `refused` when it cannot be used.
   */
  check(): void;
  /**
   * What is sealed with the key of the data directory; `undefined` when nothing is.
   *
   * @param keyId Id of the key that is to be used, where there is none in the data directory yet.
   * @throws {AppError} `refused` when that is another key than that of the database.
   */
  findSealed(keyId?: string): Promise<Sealed | undefined>;
  /**
   * Makes whatever is not there yet.
   *
   * @returns The paths that were made.
   * @throws {AppError} `refused` when what is there does not go with it.
   */
  make(): Promise<readonly string[]>;
}

/**
 * Looks at what is there.
 *
 * @throws {AppError} `refused` when that does not go with what is wanted.
 */
export async function planStorage(dir: DataDir, given: NewStorage): Promise<PlannedStorage> {
  const { shared, env } = given;
  const known = findSharedDatabase(dir);
  if (known === undefined && shared === undefined) return inFile(dir, given);
  if (shared !== undefined && holdsPassword(shared.url)) {
    throw new AppError(
      "refused",
      "The address of the database holds a password, and other users of this machine can read " +
        "command lines: write it into ~/.pgpass, or set SVC_DATABASE_URL to the whole address",
    );
  }
  if (shared !== undefined && known !== undefined && known.url !== shared.url) {
    throw new AppError(
      "refused",
      `"${dir.databaseUrl}" names another database: give the same one, or another --data-dir`,
    );
  }
  if (shared !== undefined && await isThere(dir.database)) {
    throw new AppError(
      "refused",
      `This data directory has a database in a file, "${dir.database}", which cannot be moved to PostgreSQL: give another --data-dir`,
    );
  }
  if (shared !== undefined) refuseOtherAddress(shared.url, env);
  const node = known?.node ?? { id: given.newId(), name: shared?.name ?? "" };
  const url = known?.url ?? shared?.url ?? "";
  return inPostgres(dir, { ...given, known: known !== undefined, kept: { url, node } });
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

/** A place in a database that is shared. */
interface PlannedNode extends NewStorage {
  /** Whether the data directory has it already. */
  readonly known: boolean;
  readonly kept: SharedDatabase;
}

function inPostgres(dir: DataDir, planned: PlannedNode): PlannedStorage {
  const { known, kept: { url, node }, resources, env, newId, clock, onNote } = planned;
  const to = {
    url: addressOf(url, env),
    owner: { node: node.id, run: newId() },
    name: node.name,
    env,
    clock,
  };
  return {
    isShared: true,
    check() {}, // done by what opens it
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
      if (known) return [];
      await writeSharedDatabase(dir, { url, node });
      return [dir.node, dir.databaseUrl];
    },
  };
}
