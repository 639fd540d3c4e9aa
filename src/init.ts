/**
 * `svc init`: makes whatever of the data directory is not there yet, and nothing else.
 *
 * @module
 */

import { type WallClock } from "./base/clock.ts";
import { checkSocketPath, type DataDir } from "./base/data_dir.ts";
import { AppError } from "./base/errors.ts";
import { fileFault } from "./base/file_fault.ts";
import { idFactory } from "./base/ids.ts";
import { closeToOthers } from "./base/private_files.ts";
import { settingsTemplate } from "./daemon/settings_file.ts";
import { writeLauncher } from "./launcher.ts";
import { DEFAULT_PROJECT, type Resource } from "./resources/resource.ts";
import { DEFAULT_WORKSPACE, type WorkspaceSpec } from "./resources/workspace.ts";
import { readKeyFile } from "./secrets/key_file.ts";
import { newKeyFile } from "./secrets/keyring.ts";
import { createStorage, type SharedStorage } from "./storage/create_storage.ts";

/** What `init` depends on. */
export interface InitOptions {
  readonly clock: WallClock;
  /** Reads an environment variable. */
  readonly env: (name: string) => string | undefined;
  /** The PostgreSQL that this daemon is to share with others; a database in a file when absent. */
  readonly shared?: SharedStorage;
  /** A copy of the key of those others; a new key is made when absent. */
  readonly keyFile?: string;
}

/** What `init` did. */
export interface Initialised {
  /** The paths that were made, in order; empty when everything was there. */
  readonly made: readonly string[];
  /**
   * What was there and had to be closed to others, as a sentence; `undefined` when nothing had to.
   */
  readonly closed: string | undefined;
}

/**
 * Makes the data directory. May be called again at any time, a running daemon included.
 *
 * @throws {AppError} `refused` or `invalid` when the place cannot be used.
 */
export async function initDataDir(dir: DataDir, options: InitOptions): Promise<Initialised> {
  checkSocketPath(dir);
  Deno.umask(0o077);
  const made: string[] = [];
  let closed: string | undefined;
  try {
    if (await makeDirectory(dir.root)) made.push(dir.root);
    closed = await closeToOthers(dir); // before there is anything in it to read
    const directories = [dir.controlPlane, `${dir.root}/secrets`, dir.scripts, dir.bin];
    for (
      const path of [...directories, dir.logs, dir.run, `${dir.workspaces}/${DEFAULT_WORKSPACE}`]
    ) {
      if (await makeDirectory(path)) made.push(path);
    }
    if (await hasDatabase(dir) && !await exists(dir.secretKey)) {
      throw new AppError(
        "refused",
        `The key "${dir.secretKey}" is missing: restore it from your backup`,
      );
    }
    const key = await keyText(options);
    if (await makeFile(dir.secretKey, key)) made.push(dir.secretKey);
    else if (options.keyFile !== undefined && await Deno.readTextFile(dir.secretKey) !== key) {
      throw new AppError(
        "refused",
        `"${dir.secretKey}" is there, and another key than "${options.keyFile}": remove it if nothing was sealed with it, and run this again`,
      );
    }
    if (await makeFile(dir.lock, "")) made.push(dir.lock);
    if (await makeFile(dir.settings, settingsTemplate())) made.push(dir.settings);
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError("refused", `Cannot make the data directory: ${fileFault(cause)}`, { cause });
  }
  const resources = [defaultWorkspace(options.clock)];
  const newId = idFactory(options.clock);
  made.push(...await createStorage(dir, { ...options, resources, newId }));
  const launcher = await exists(`${dir.bin}/svc`);
  await writeLauncher(dir, options.env);
  if (!launcher) made.push(`${dir.bin}/svc`);
  return { made, closed };
}

async function hasDatabase(dir: DataDir): Promise<boolean> {
  return await exists(dir.database) || await exists(dir.databaseUrl);
}

/** The key of the other daemons, which has to be one, or a new one. */
async function keyText({ keyFile }: InitOptions): Promise<string> {
  if (keyFile === undefined) return newKeyFile();
  await readKeyFile(keyFile);
  return await Deno.readTextFile(keyFile);
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

async function makeDirectory(path: string): Promise<boolean> {
  if (await exists(path)) return false;
  await Deno.mkdir(path, { recursive: true, mode: 0o700 });
  return true;
}

async function makeFile(path: string, content: string): Promise<boolean> {
  try {
    await Deno.writeTextFile(path, content, { createNew: true, mode: 0o600 });
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return false;
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
