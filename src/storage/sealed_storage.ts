/**
 * The values that are sealed with the key of a data directory, in a file or in a shared PostgreSQL,
 * and the change of that key. While a change is unfinished, the database says which key is valid.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { DataDir } from "../base/data_dir.ts";
import { isThere } from "../base/durable_files.ts";
import { idFactory } from "../base/ids.ts";
import type { Resource } from "../resources/resource.ts";
import { readKeyFile } from "../secrets/key_file.ts";
import { keyIdOf, type Keyring } from "../secrets/keyring.ts";
import { dropNextKey, findNextKey, type KeyReplacement, takeNextKey } from "../secrets/next_key.ts";
import { opensAll } from "../secrets/secret_stores.ts";
import type { ControlEvent } from "../store/audit_records.ts";
import { findSecretStores } from "../store/sqlite/create_database.ts";
import { checkStorage } from "./check_storage.ts";
import { copyBeforeMigration } from "./copy_before_migration.ts";
import { addressOf, findSharedDatabase, type SharedDatabase } from "./shared_database.ts";

/** How to open the database. */
export interface SealedHost {
  readonly clock: Clock;
  /** Reads an environment variable. */
  readonly env: (name: string) => string | undefined;
  /** Called with a sentence about a migration of the database. */
  readonly onNote?: (text: string) => void;
}

/** The sealed values of a database. */
export interface SealedStorage extends AsyncDisposable {
  /** Path of the database; for a shared one, its place in words. */
  readonly database: string;
  readonly secretStores: readonly Resource[];
  /** Names of the other nodes that share the database. */
  readonly otherNodes: readonly string[];
  /**
   * Replaces all sealed values, or none.
   *
   * @param to Id of the new key.
   * @throws {AppError} `refused`, `conflict` or `overloaded`; after the last it may have been done.
   */
  replace(secretStores: readonly Resource[], to: string, record: ControlEvent): Promise<void>;
}

/**
 * Reads the sealed values in the database of a data directory, which has to be locked.
 *
 * @param keyId Id of its key.
 * @throws {AppError} `refused` when it cannot be used, or daemons run on it; `overloaded` when it
 * cannot be reached.
 */
export async function openSealed(
  dir: DataDir,
  keyId: string,
  host: SealedHost,
): Promise<SealedStorage> {
  const shared = findSharedDatabase(dir);
  if (shared !== undefined) return await openShared(shared, keyId, host);
  await checkStorage(dir);
  const { resealFile } = await import("../store/sqlite/maintenance/reseal_file.ts");
  return {
    database: dir.database,
    secretStores: findSecretStores(dir.database),
    otherNodes: [],
    async replace(secretStores, _to, record) {
      await copyBeforeMigration(dir, host);
      await resealFile(dir.database, { secretStores, record });
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function openShared(
  shared: SharedDatabase,
  keyId: string,
  host: SealedHost,
): Promise<SealedStorage> {
  const { openSealedDatabase } = await import("../store/postgres/reseal_database.ts");
  const sealed = await openSealedDatabase(connectTo(shared, host), keyId);
  return {
    ...sealed,
    replace: (secretStores, keyId, record) => sealed.replace({ secretStores, keyId, record }),
  };
}

function connectTo({ url, node }: SharedDatabase, { env, clock }: SealedHost) {
  const owner = { node: node.id, run: idFactory(clock)() };
  return { url: addressOf(url, env), owner, env, clock };
}

/**
 * Finishes or undoes an interrupted change of the key. The data directory has to be locked.
 *
 * @returns The replacement if the new key is valid; `undefined` otherwise.
 * @throws {AppError} `refused` or `overloaded` when the database cannot say which key is valid.
 */
export async function settleKey(
  dir: DataDir,
  host: SealedHost,
): Promise<KeyReplacement | undefined> {
  const next = await findNextKey(dir.secretKey);
  if (next === undefined) return undefined;
  const valid = await findValidKey(dir, next.keyring, host);
  if (valid === "next") return await takeNextKey(dir.secretKey);
  if (valid === "present") await dropNextKey(dir.secretKey);
  return undefined;
}

/** The key with which the database is sealed; `undefined` if it is neither of the two. */
async function findValidKey(
  dir: DataDir,
  next: Keyring,
  host: SealedHost,
): Promise<"present" | "next" | undefined> {
  const present = await readKeyFile(dir.secretKey).catch(() => undefined);
  const shared = findSharedDatabase(dir);
  if (shared !== undefined) {
    const { readKeyId } = await import("../store/postgres/reseal_database.ts");
    const keyId = await readKeyId(connectTo(shared, host));
    if (await keyIdOf(next) === keyId) return "next";
    return present !== undefined && await keyIdOf(present) === keyId ? "present" : undefined;
  }
  if (!await isThere(dir.database)) return undefined; // it may come back, sealed with either
  const secretStores = findSecretStores(dir.database);
  // If nothing is sealed, both keys open it, and nothing has been changed.
  if (present !== undefined && await opensAll(present, secretStores)) return "present";
  return await opensAll(next, secretStores) ? "next" : undefined;
}
