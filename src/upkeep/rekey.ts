/**
 * `svc db rekey`: makes a new key and seals every secret value anew, while no daemon runs. Whenever
 * it is cut off, the key that opens everything is there, and what uses the data directory next puts
 * it in its place.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { DataDir } from "../base/data_dir.ts";
import { AppError, messageOf } from "../base/errors.ts";
import { fileFault } from "../base/file_fault.ts";
import { lockDataDir } from "../base/lock.ts";
import type { Resource } from "../resources/resource.ts";
import type { SecretStoreSpec } from "../resources/secret_store.ts";
import { readKeyFile } from "../secrets/key_file.ts";
import { createKeyring, keyIdOf, newKeyFile } from "../secrets/keyring.ts";
import { type KeyReplacement, takeNextKey, writeNextKey } from "../secrets/next_key.ts";
import { sealAnew } from "../secrets/secret_stores.ts";
import { openSealed, type SealedStorage, settleKey } from "../storage/sealed_storage.ts";
import type { Progress } from "../store/maintenance.ts";
import { ownRecord } from "./own_record.ts";

/** A change of the key. */
export interface RekeyRequest {
  /** Whether only to look whether it can be done. */
  readonly dryRun: boolean;
}

/** What it needs. */
export interface RekeyHost {
  readonly dirs: DataDir;
  readonly clock: Clock;
  /** Reads an environment variable. */
  readonly env: (name: string) => string | undefined;
  /** Told of a migration of the database. */
  readonly onNote?: (text: string) => void;
}

/** What came of it. */
export interface RekeyResult {
  /** The database: its path, or in words where it is shared. */
  readonly database: string;
  readonly secretStores: number;
  /** Number of values in them. */
  readonly values: number;
  readonly keyFile: string;
  /** The old and the new key; absent where it was only looked at. */
  readonly changed?: {
    readonly from: string;
    readonly to: string;
    /** File of the old key. */
    readonly kept: string;
    /** Backups made before open with the old key; in milliseconds since the epoch. */
    readonly since: number;
  };
  /** Names of the other nodes, which have to be given the new key. */
  readonly otherNodes: readonly string[];
}

/** SecretStores that are sealed between two reports of progress. */
const PER_REPORT = 20;

/**
 * Changes the key; yields its progress.
 *
 * @throws {AppError} `refused` when a daemon runs, or a value does not open; then nothing has
 * changed.
 */
export async function* rekey(
  { dryRun }: RekeyRequest,
  host: RekeyHost,
): AsyncGenerator<Progress, RekeyResult, undefined> {
  const { dirs, clock } = host;
  using _lock = await lockDataDir(dirs, clock);
  await settleKey(dirs, host);
  await refuseLink(dirs.secretKey);
  const old = await readKeyFile(dirs.secretKey);
  const from = await keyIdOf(old);
  await using sealed = await openSealed(dirs, from, host);
  const text = newKeyFile();
  const keyring = await createKeyring(text);
  const to = await keyIdOf(keyring);
  const anew: Resource[] = [];
  const closed: string[] = [];
  for (const [done, one] of sealed.secretStores.entries()) {
    if (done % PER_REPORT === 0) yield { fraction: done / sealed.secretStores.length };
    try {
      anew.push(await sealAnew(one, { from: old, to: keyring }));
    } catch (error) {
      closed.push(messageOf(error));
    }
  }
  if (closed.length > 0) {
    throw new AppError("refused", "Some secrets do not open, nothing was changed", {
      details: closed,
    });
  }
  const result = {
    database: sealed.database,
    secretStores: anew.length,
    values: anew.reduce(
      (sum, { spec }) => sum + Object.keys((spec as SecretStoreSpec).data).length,
      0,
    ),
    keyFile: dirs.secretKey,
    otherNodes: sealed.otherNodes,
  };
  if (dryRun) return result;
  await writeNextKey(dirs.secretKey, text).catch((cause) => {
    const why = fileFault(cause);
    throw new AppError("refused", `Cannot write beside "${dirs.secretKey}": ${why}`, { cause });
  });
  const { kept = "", since } = await replaceAll({ sealed, anew, from, to }, host);
  return { ...result, changed: { from, to, kept, since } };
}

/** Replaces everything, and takes the new key where that was done. */
async function replaceAll(
  { sealed, anew, from, to }: {
    readonly sealed: SealedStorage;
    readonly anew: readonly Resource[];
    readonly from: string;
    readonly to: string;
  },
  host: RekeyHost,
): Promise<KeyReplacement> {
  const { dirs, clock } = host;
  try {
    await sealed.replace(anew, to, ownRecord("db.rekey", `key ${from} to ${to}`, clock));
  } catch (failure) {
    // the answer of a database that is shared may have been lost
    const settled = await settleKey(dirs, host).catch((cause) => {
      const message =
        `It is not known whether the key was changed (${messageOf(failure)}): run this again, ` +
        "or start the daemon; either continues with the key that opens everything";
      throw new AppError("refused", message, { cause });
    });
    if (settled !== undefined) return settled;
    throw failure;
  }
  return await takeNextKey(dirs.secretKey).catch((cause) => {
    const message = "Everything is sealed with the new key, which svc cannot put in place yet " +
      `(${fileFault(cause)}): the next start of the daemon does that`;
    throw new AppError("refused", message, { cause });
  });
}

/** What a link leads to is managed elsewhere, and would come back. */
async function refuseLink(path: string): Promise<void> {
  const there = await Deno.lstat(path).catch(() => undefined);
  if (there?.isSymlink !== true) return;
  throw new AppError(
    "refused",
    `"${path}" is a link, so its key is managed elsewhere: replace it with the file itself, ` +
      "run this again, and move the new file to where the link led",
  );
}
