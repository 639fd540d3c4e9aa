/**
 * `svc db check`: checks every page and every row of the database, and whether the key file decrypts
 * its secrets. It also checks a copy, whose secrets a former key may decrypt, and a shared database,
 * without the pages, which are PostgreSQL's.
 *
 * @module
 */

import type { DataDir } from "../base/data_dir.ts";
import { AppError, messageOf } from "../base/errors.ts";
import { readRegularText } from "../base/regular_file.ts";
import type { Resource } from "../resources/resource.ts";
import type { SecretStoreSpec } from "../resources/secret_store.ts";
import { findKeyFault, keyRemedy } from "../secrets/key_file.ts";
import { createKeyring, type Keyring } from "../secrets/keyring.ts";
import { type KeyFile, readFormerKeys } from "../secrets/next_key.ts";
import { opensAll } from "../secrets/secret_stores.ts";
import { checkShared } from "../storage/inspect_shared_database.ts";
import type { CheckFacts, Progress } from "../store/maintenance.ts";
import { checkWholeFile } from "../store/sqlite/maintenance/run_job.ts";

/** Result of a check. */
export interface CheckReport {
  /** Path of the file; a description if the database is shared. */
  readonly file: string;
  /** Size of the database in bytes. */
  readonly bytes: number;
  /** Version of the schema. */
  readonly schemaVersion: number;
  /** One sentence for each fault. */
  readonly faults: readonly string[];
  /** Remarks that are no faults. */
  readonly notes: readonly string[];
}

/** A database to check. */
export interface CheckRequest {
  /** Absolute path of the database. */
  readonly file: string;
  /** Whether no daemon can use the file: the caller holds the lock of its directory. */
  readonly alone: boolean;
}

/** Checks a database; never throws because of its faults. */
export async function* check(
  { file, alone }: CheckRequest,
  dirs: DataDir,
  signal?: AbortSignal,
): AsyncGenerator<Progress, CheckReport, undefined> {
  const facts = yield* checkWholeFile(file, alone, signal);
  const notes = notesOf(facts, alone);
  const closed = (await findClosedSecrets(facts.secretStores, dirs)).map(({ resource }) =>
    resource
  );
  const former = await findFormerKey(closed, dirs);
  if (former === undefined) return { ...await report(file, facts, dirs), notes };
  const { bytes, schemaVersion, faults } = facts;
  const note = `Its secrets open with a former key, "${former.path}": a restore seals them again`;
  return { file, bytes, schemaVersion, faults, notes: [...notes, note] };
}

/** A check of the database of a data directory, in a file or shared. */
export interface OwnCheckRequest extends Pick<CheckRequest, "alone"> {
  /** Reads an environment variable. */
  readonly env: (name: string) => string | undefined;
}

/**
 * Checks the database of a data directory.
 *
 * @throws {AppError} `refused` or `overloaded` if it is shared and cannot be reached.
 */
export async function* checkOwn(
  { env, alone }: OwnCheckRequest,
  dirs: DataDir,
  signal?: AbortSignal,
): AsyncGenerator<Progress, CheckReport, undefined> {
  const shared = yield* checkShared(dirs, env);
  const facts = shared ?? (yield* checkWholeFile(dirs.database, alone, signal));
  const result = await report(shared?.database ?? dirs.database, facts, dirs);
  const faults = [...result.faults, ...await findFaultOfNewKey(facts, dirs)];
  return { ...result, faults, notes: notesOf(facts, alone && shared === undefined) };
}

/** The fault of a key with which nothing is sealed yet: without a usable key no daemon starts. */
async function findFaultOfNewKey(
  { faults, secretStores }: CheckFacts,
  dirs: DataDir,
): Promise<readonly string[]> {
  if (secretStores.length > 0 || faults.length > 0) return [];
  const fault = await findKeyFault(dirs.secretKey);
  return fault === undefined ? [] : [keyRemedy(dirs.secretKey, fault)];
}

function notesOf({ running }: CheckFacts, alone: boolean): readonly string[] {
  if (running === 0 || !alone) return [];
  return [`${running} tasks were running: they continue when a daemon starts`];
}

async function report(
  file: string,
  { bytes, schemaVersion, faults, secretStores }: CheckFacts,
  dirs: DataDir,
): Promise<Omit<CheckReport, "notes">> {
  const closed = await findClosedSecrets(secretStores, dirs);
  const sealed = new Set(closed.map(({ fault }) => fault));
  return { file, bytes, schemaVersion, faults: [...faults, ...sealed] };
}

/** A SecretStore whose values cannot be decrypted. */
export interface ClosedSecrets {
  /** The SecretStore, its values sealed. */
  readonly resource: Resource;
  /** The reason, as a sentence. */
  readonly fault: string;
}

/** The SecretStores that the present key file does not decrypt. */
export async function findClosedSecrets(
  secretStores: readonly Resource[],
  dirs: DataDir,
): Promise<readonly ClosedSecrets[]> {
  if (secretStores.length === 0) return [];
  let keyring: Keyring;
  try {
    keyring = await createKeyring(readRegularText(dirs.secretKey));
  } catch (error) {
    const fault = `The key "${dirs.secretKey}" cannot be used: ${messageOf(error)}`;
    return secretStores.map((resource) => ({ resource, fault }));
  }
  const results = await Promise.all(secretStores.map(async (resource) => {
    const { project, name: store, spec, createdAt, generation } = resource;
    try {
      for (const [key, sealed] of Object.entries((spec as SecretStoreSpec).data)) {
        await keyring.open({ project, store, key, createdAt, generation }, sealed);
      }
      return [];
    } catch (error) {
      const damaged = `The stored SecretStore "${store}" is damaged`;
      return [{ resource, fault: error instanceof AppError ? error.message : damaged }];
    }
  }));
  return results.flat();
}

/** The former key that opens all of these SecretStores; `undefined` if there is none. */
export async function findFormerKey(
  closed: readonly Resource[],
  dirs: DataDir,
): Promise<KeyFile | undefined> {
  if (closed.length === 0) return undefined;
  for (const former of await readFormerKeys(dirs.secretKey)) {
    if (await opensAll(former.keyring, closed)) return former;
  }
  return undefined;
}

/**
 * Keys of SecretStores, as `project/name KEY`, whose values differ, or that only one side has. A value
 * that does not open counts as different.
 */
export async function findOtherSecrets(
  stores: { readonly before: readonly Resource[]; readonly now: readonly Resource[] },
  dirs: DataDir,
): Promise<readonly string[]> {
  if (stores.now.length === 0) return [];
  const keyring = await createKeyring(await Deno.readTextFile(dirs.secretKey));
  const [before, now] = await Promise.all(
    [openAll(stores.before, keyring), openAll(stores.now, keyring)],
  );
  return [...new Set([...before.keys(), ...now.keys()])]
    .filter((key) => before.get(key) === undefined || before.get(key) !== now.get(key)).toSorted();
}

/** The values by `project/name KEY`, without those that do not open. */
async function openAll(
  secretStores: readonly Resource[],
  keyring: Keyring,
): Promise<ReadonlyMap<string, string>> {
  const values = new Map<string, string>();
  for (const { project, name: store, spec, createdAt, generation } of secretStores) {
    for (const [key, sealed] of Object.entries((spec as SecretStoreSpec).data)) {
      const place = { project, store, key, createdAt, generation };
      const value = await keyring.open(place, sealed).catch(() => undefined);
      if (value !== undefined) values.set(`${project}/${store} ${key}`, value);
    }
  }
  return values;
}
