/**
 * `svc init`: makes the missing parts of the data directory, and changes no other.
 *
 * @module
 */

import { dirname, join } from "node:path";
import type { Clock, WallClock } from "./base/clock.ts";
import { checkSocketPath, type DataDir } from "./base/data_dir.ts";
import { createDurably, isThere, makeDirectoryDurably } from "./base/durable_files.ts";
import { AppError } from "./base/errors.ts";
import { fileFault } from "./base/file_fault.ts";
import { idFactory } from "./base/ids.ts";
import { lockUnless } from "./base/lock.ts";
import { closeToOthers } from "./base/private_files.ts";
import { readRegularText } from "./base/regular_file.ts";
import { writeLauncher } from "./calls/launcher.ts";
import { settingsTemplate } from "./daemon/settings_template.ts";
import { DEFAULT_WORKSPACE } from "./resources/names.ts";
import { DEFAULT_PROJECT, type Resource } from "./resources/resource.ts";
import type { WorkspaceSpec } from "./resources/workspace.ts";
import { findKeyFault, keyRemedy, MISSING, openKeyFile } from "./secrets/key_file.ts";
import { keyIdOf, newKeyFile } from "./secrets/keyring.ts";
import { takeNextKey, writeNextKey } from "./secrets/next_key.ts";
import { settleKey } from "./storage/sealed_storage.ts";
import { type PlannedStorage, planStorage, type SharedStorage } from "./storage/create_storage.ts";

/** Options of `svc init`. */
export interface InitOptions {
  readonly clock: Clock;
  /** Reads an environment variable. */
  readonly env: (name: string) => string | undefined;
  /** The PostgreSQL that this daemon shares with others; a database in a file when absent. */
  readonly shared?: SharedStorage;
  /** A copy of the key of the other daemons; a new key is made when absent. */
  readonly keyFile?: string;
  /** Called with a sentence about a migration of the database. */
  readonly onNote?: (text: string) => void;
}

/** The result of `svc init`. */
export interface Initialised {
  /** The paths that were made, in order; empty if nothing was missing. */
  readonly made: readonly string[];
  /**
   * A sentence about existing files that were closed to other users; `undefined` if there were none.
   */
  readonly closed: string | undefined;
}

/**
 * Makes the data directory. It may be called again at any time: after it was killed it continues, and
 * beside a daemon or another `svc init` that runs it makes nothing.
 *
 * @throws {AppError} `refused` or `invalid` when the directory or an option cannot be used. If an
 * option is refused, nothing was made.
 */
export async function initDataDir(dir: DataDir, options: InitOptions): Promise<Initialised> {
  checkSocketPath(dir);
  Deno.umask(0o077);
  const { clock, shared, env, onNote } = options;
  const made: string[] = [];
  try {
    const closed = await closeToOthers(dir); // before anything in it is read
    const newId = idFactory(clock);
    const resources = [defaultWorkspace(clock)];
    const storage = await planStorage(dir, { shared, env, clock, newId, resources, onNote });
    // Before the lock, so that a key that a shared database refuses is never written. A database in a
    // file is read under the lock only.
    const joining = storage.isShared ? await planKey(dir, options, storage) : undefined;
    for (const path of directoriesOf(dir)) if (await makeDirectoryDurably(path)) made.push(path);
    const hadLock = await isThere(dir.lock);
    const isNeedless = async () => joining?.replaces !== true && await isMade(dir);
    using lock = await lockUnless(isNeedless, { dir, clock });
    if (lock === undefined) return { made, closed };
    if (!hadLock) made.push(dir.lock);
    storage.check();
    await settleKey(dir, { env, clock });
    // The key is made before the database, which may hold sealed values from its start.
    const key = joining ?? await planKey(dir, options, storage);
    made.push(...await makeKey(dir, key, storage));
    if (await createDurably(dir.settings, settingsTemplate())) made.push(dir.settings);
    const launcher = join(dir.bin, "svc");
    const hadLauncher = await isThere(launcher);
    await writeLauncher(dir, env);
    if (!hadLauncher) made.push(launcher);
    made.push(...await storage.make());
    return { made, closed };
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError("refused", `Cannot create the data directory: ${fileFault(cause)}`, {
      cause,
    });
  }
}

function directoriesOf(dir: DataDir): readonly string[] {
  return [
    dir.root,
    dir.controlPlane,
    dirname(dir.secretKey),
    dir.scripts,
    dir.bin,
    dir.logs,
    dir.run,
    join(dir.workspaces, DEFAULT_WORKSPACE),
  ];
}

/** Whether a daemon can start: the database is made last. */
async function isMade(dir: DataDir): Promise<boolean> {
  return await isThere(dir.secretKey) &&
    (await isThere(dir.databaseUrl) || await isThere(dir.database));
}

/** A key file to write. */
interface PlannedKey {
  readonly text: string;
  /** Whether it replaces an existing one. */
  readonly replaces: boolean;
}

/**
 * The key file to write: that of the other daemons, or a new one if there is none. It replaces a key
 * that the other daemons have replaced.
 *
 * @throws {AppError} `refused` or `invalid` when no key, or another one, can be used.
 */
async function planKey(
  dir: DataDir,
  { keyFile }: InitOptions,
  storage: PlannedStorage,
): Promise<PlannedKey> {
  if (keyFile === undefined) {
    const sealed = await isThere(dir.secretKey) ? undefined : await storage.findSealed();
    if (sealed === undefined) return { text: newKeyFile(), replaces: false };
    throw new AppError("refused", keyRemedy(dir.secretKey, MISSING, sealed));
  }
  if (!storage.isShared) {
    throw new AppError(
      "usage",
      'A key file is only for joining daemons that share a database (--database); "svc db ' +
        'rekey" makes a new key',
    );
  }
  const { keyring, text } = await openKeyFile(keyFile);
  const sealed = await storage.findSealed(await keyIdOf(keyring));
  const replaces = await isThere(dir.secretKey) && readRegularText(dir.secretKey) !== text;
  if (!replaces || sealed !== undefined) return { text, replaces };
  throw new AppError(
    "refused",
    `"${dir.secretKey}" exists and differs from "${keyFile}": if nothing was sealed with it, ` +
      "remove it and run this again",
  );
}

/**
 * Writes the key file; an existing one has to be usable, or is replaced.
 *
 * @returns The paths that were made.
 */
async function makeKey(
  dir: DataDir,
  { text, replaces }: PlannedKey,
  storage: PlannedStorage,
): Promise<readonly string[]> {
  if (await createDurably(dir.secretKey, text)) return [dir.secretKey];
  if (replaces) {
    if (readRegularText(dir.secretKey) === text) return [];
    await writeNextKey(dir.secretKey, text);
    const { kept } = await takeNextKey(dir.secretKey);
    return kept === undefined ? [dir.secretKey] : [kept, dir.secretKey];
  }
  const fault = await findKeyFault(dir.secretKey);
  if (fault === undefined) return [];
  throw new AppError("refused", keyRemedy(dir.secretKey, fault, await storage.findSealed()));
}

function defaultWorkspace(clock: WallClock): Resource<WorkspaceSpec> {
  return {
    kind: "Workspace",
    project: DEFAULT_PROJECT,
    name: DEFAULT_WORKSPACE,
    metadata: {},
    spec: { path: `workspaces/${DEFAULT_WORKSPACE}` },
    generation: 1,
    createdAt: clock.now(),
    updatedAt: clock.now(),
  };
}
