/**
 * Locks the data directory for one daemon: it has to be initialised, inaccessible to other users,
 * and used by no other daemon.
 *
 * @module
 */

import { checkSocketPath, type DataDir } from "../base/data_dir.ts";
import { AppError } from "../base/errors.ts";
import { fileFault } from "../base/file_fault.ts";
import { refuseMissing } from "../base/initialised.ts";
import { lockDataDir } from "../base/lock.ts";
import { closeToOthers } from "../base/private_files.ts";
import { writeLauncher } from "../calls/launcher.ts";
import { openKeyFile } from "../secrets/key_file.ts";
import type { Keyring } from "../secrets/keyring.ts";
import { readFormerKeys } from "../secrets/next_key.ts";
import { checkStorage, isShared } from "../storage/check_storage.ts";
import { settleKey } from "../storage/sealed_storage.ts";
import type { DaemonConfig } from "./config.ts";

/** The locked data directory; disposing it releases the lock. */
export interface OwnDataDir extends Disposable {
  /** Decrypts and encrypts the secrets in it. */
  readonly keyring: Keyring;
  /** The replaced keys whose files still exist. */
  readonly formerKeys: readonly Keyring[];
  /** The texts of the files of all these keys. */
  readonly keyFiles: readonly string[];
}

/**
 * Locks the data directory, and prepares the parts of it that do not need the store.
 *
 * @throws {AppError} `refused` when the directory cannot be used, or another daemon uses it.
 */
export async function takeDataDir({ dir, env, clock, log }: DaemonConfig): Promise<OwnDataDir> {
  checkSocketPath(dir);
  await checkInitialised(dir);
  const closed = await closeToOthers(dir);
  if (closed !== undefined) log.warn(closed);
  using opening = new DisposableStack();
  opening.use(await lockDataDir(dir, clock));
  await checkStorage(dir);
  const replaced = await usePath(dir.secretKey, settleKey(dir, { env, clock }));
  if (replaced !== undefined) {
    log.warn(`svc finished the interrupted change of the key: the old one is ${replaced.kept}`);
  }
  const { keyring, text } = await openKeyFile(dir.secretKey);
  const former = await readFormerKeys(dir.secretKey);
  const warning = await usePath(dir.bin, writeLauncher(dir, env));
  if (warning !== undefined) log.warn(warning);
  const lock = opening.move();
  return {
    keyring,
    formerKeys: former.map((one) => one.keyring),
    keyFiles: [text, ...former.map((one) => one.text)],
    [Symbol.dispose]: () => lock.dispose(),
  };
}

async function checkInitialised(dir: DataDir): Promise<void> {
  await refuseMissing(dir);
  const database = await isShared(dir) ? dir.databaseUrl : dir.database;
  for (const path of [database, dir.secretKey]) {
    try {
      await Deno.stat(path);
    } catch (cause) {
      const what = path === dir.secretKey && cause instanceof Deno.errors.NotFound
        ? `The key "${path}" is missing, secrets cannot be read: restore it from your backup`
        : `Cannot use "${path}": ${fileFault(cause)}`;
      throw new AppError("refused", what, { cause });
    }
  }
}

/**
 * Returns the result of `work`, which uses the file or directory at `path`.
 *
 * @throws {AppError} `refused` with the path and the reason when `work` fails.
 */
export async function usePath<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError("refused", `Cannot use "${path}": ${fileFault(cause)}`, { cause });
  }
}
