/**
 * `svc db check`: checks every page and every row of the database, and whether the key file
 * decrypts its secrets. It works on a copy too.
 *
 * @module
 */

import type { DataDir } from "../base/data_dir.ts";
import { AppError, messageOf } from "../base/errors.ts";
import type { Resource } from "../resources/resource.ts";
import type { SecretStoreSpec } from "../resources/secret_store.ts";
import { createKeyring, type Keyring } from "../secrets/keyring.ts";
import type { Progress } from "../store/maintenance.ts";
import { checkWholeFile } from "../store/sqlite/maintenance/run_job.ts";

/** Result of a check. */
export interface CheckReport {
  readonly file: string;
  /** Size in bytes. */
  readonly bytes: number;
  /** Version of the schema. */
  readonly schemaVersion: number;
  /** One sentence for each fault; empty when there is none. */
  readonly faults: readonly string[];
  /** Remarks that are no faults. */
  readonly notes: readonly string[];
}

/** A database to check. */
export interface CheckRequest {
  /** Absolute path. */
  readonly file: string;
  /** Whether no daemon can use the file: the caller holds the lock of its directory. */
  readonly alone: boolean;
}

/** Checks a database; never throws because of its faults. */
export async function* check(
  { file, alone }: CheckRequest,
  dirs: DataDir,
): AsyncGenerator<Progress, CheckReport, undefined> {
  const beside = [`${file}-shm`, `${file}-wal`].filter((path) => !isThere(path));
  try {
    const facts = yield* checkWholeFile(file);
    const closed = await findClosedSecrets(facts.secretStores, dirs);
    const left = facts.running > 0 && alone
      ? [`${facts.running} tasks were running: they continue when a daemon starts`]
      : [];
    return {
      file,
      bytes: facts.bytes,
      schemaVersion: facts.schemaVersion,
      notes: left,
      faults: [...facts.faults, ...new Set(closed.map(({ fault }) => fault))],
    };
  } finally {
    // Even a reader makes them. Another user of the database would need them: then they stay.
    for (const path of alone ? beside : []) await Deno.remove(path).catch(() => {});
  }
}

/** A SecretStore whose values cannot be decrypted. */
export interface ClosedSecrets {
  /** The SecretStore, its values sealed. */
  readonly resource: Resource;
  /** The reason, as a sentence. */
  readonly fault: string;
}

/** SecretStores that the present key file does not decrypt. */
export async function findClosedSecrets(
  secretStores: readonly Resource[],
  dirs: Pick<DataDir, "secretKey">,
): Promise<readonly ClosedSecrets[]> {
  if (secretStores.length === 0) return [];
  let keyring: Keyring;
  try {
    keyring = await createKeyring(await Deno.readTextFile(dirs.secretKey));
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

function isThere(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}
