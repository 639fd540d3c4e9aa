/**
 * `svc db rekey`: makes a new key and seals every secret value again, while no daemon runs. Whenever
 * it is interrupted, the key that opens everything is on disk, and the next program that uses the
 * data directory puts it in its place.
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
  /** Whether only to check that it can be done. */
  readonly dryRun: boolean;
}

/** The data directory, and its surroundings. */
export interface RekeyHost {
  readonly dirs: DataDir;
  readonly clock: Clock;
  /** Reads an environment variable. */
  readonly env: (name: string) => string | undefined;
  /** Called for a migration of the database. */
  readonly onNote?: (text: string) => void;
}

/** The result of a rekey. */
export interface RekeyResult {
  /** Path of the database; a description if it is shared. */
  readonly database: string;
  readonly secretStores: number;
  /** Number of values in them. */
  readonly values: number;
  readonly keyFile: string;
  /** The old and the new key; absent after a dry run. */
  readonly changed?: {
    readonly from: string;
    readonly to: string;
    /** File of the old key. */
    readonly kept: string;
    /** Backups made before open with the old key; in milliseconds since the epoch. */
    readonly since: number;
  };
  /** Names of the other nodes, which need the new key too. */
  readonly otherNodes: readonly string[];
}

/** Number of SecretStores that are sealed between two reports of progress. */
const PER_REPORT = 20;

/**
 * Changes the key; yields its progress.
 *
 * @throws {AppError} `refused` if a daemon runs, or a value does not open; then nothing has changed.
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
  const resealed: Resource[] = [];
  const details: string[] = [];
  for (const [done, secretStore] of sealed.secretStores.entries()) {
    if (done % PER_REPORT === 0) yield { fraction: done / sealed.secretStores.length };
    try {
      resealed.push(await sealAnew(secretStore, { from: old, to: keyring }));
    } catch (error) {
      details.push(messageOf(error));
    }
  }
  if (details.length > 0) {
    throw new AppError("refused", "Some secrets do not open, nothing was changed", { details });
  }
  const valueCounts = resealed.map(({ spec }) =>
    Object.keys((spec as SecretStoreSpec).data).length
  );
  const result = {
    database: sealed.database,
    secretStores: resealed.length,
    values: valueCounts.reduce((sum, count) => sum + count, 0),
    keyFile: dirs.secretKey,
    otherNodes: sealed.otherNodes,
  };
  if (dryRun) return result;
  await writeNextKey(dirs.secretKey, text).catch((cause) => {
    const why = fileFault(cause);
    throw new AppError("refused", `Cannot write beside "${dirs.secretKey}": ${why}`, { cause });
  });
  const { kept = "", since } = await replaceAll({ sealed, resealed, from, to }, host);
  return { ...result, changed: { from, to, kept, since } };
}

/** Stores the resealed SecretStores, and then puts the new key in its place. */
async function replaceAll(
  { sealed, resealed, from, to }: {
    readonly sealed: SealedStorage;
    readonly resealed: readonly Resource[];
    readonly from: string;
    readonly to: string;
  },
  host: RekeyHost,
): Promise<KeyReplacement> {
  const { dirs, clock } = host;
  try {
    await sealed.replace(resealed, to, ownRecord("db.rekey", `key ${from} to ${to}`, clock));
  } catch (failure) {
    // The answer of a shared database may have been lost after it has stored everything.
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

/** Refuses a key that is a link: another program manages the file, and would put the old key back. */
async function refuseLink(path: string): Promise<void> {
  const there = await Deno.lstat(path).catch(() => undefined);
  if (there?.isSymlink !== true) return;
  throw new AppError(
    "refused",
    `"${path}" is a link, so its key is managed elsewhere: replace it with the file itself, ` +
      "run this again, and move the new file to where the link led",
  );
}
