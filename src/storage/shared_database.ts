/**
 * Which PostgreSQL a data directory belongs to, and as which node: two small files in it, made by
 * `svc init --database`. Without them the data directory has a database of its own.
 *
 * @module
 */

import type { DataDir } from "../base/data_dir.ts";
import { writeDurably } from "../base/durable_files.ts";
import { AppError } from "../base/errors.ts";
import { fileFault } from "../base/file_fault.ts";
import { isJsonObject } from "../base/json.ts";
import { readRegularText } from "../base/regular_file.ts";
import { nameOf } from "../store/postgres/database/database_url.ts";
import { toAddress } from "../store/postgres/database/driver_config.ts";

/** A database that several daemons share. */
export interface SharedDatabase {
  /** `postgres://user@host/database`, as it is kept. */
  readonly url: string;
  /** This data directory among those that share it. */
  readonly node: NodeIdentity;
}

/** A data directory, as the others know it. */
export interface NodeIdentity {
  /** Made once. */
  readonly id: string;
  /** For people; nobody else in the database has it. */
  readonly name: string;
}

/** Takes the place of the address in the data directory, so that it may hold a password. */
export const URL_VARIABLE = "SVC_DATABASE_URL";

/** The address to connect to in the place of the one that is kept. */
export function addressOf(kept: string, env: (name: string) => string | undefined): string {
  return env(URL_VARIABLE) || kept;
}

/**
 * Refuses to make one database where another one is named: the variable takes the place of an
 * address so that it may hold a password, or another user.
 *
 * @throws {AppError} `refused`.
 */
export function refuseOtherAddress(
  named: string,
  env: (name: string) => string | undefined,
): void {
  const [wanted, used] = [named, addressOf(named, env)].map((url) => nameOf(toAddress(url, env)));
  if (wanted === used) return;
  throw new AppError(
    "refused",
    `--database names ${wanted}, and ${URL_VARIABLE}, which wins, names ${used}: unset it, or ` +
      "name the same database in both",
  );
}

/**
 * The database that this data directory shares; `undefined` where it has one of its own.
 *
 * @throws {AppError} `refused` when only a part of it is there, or cannot be read.
 */
export function findSharedDatabase(dir: DataDir): SharedDatabase | undefined {
  const stored = readIfThere(dir.databaseUrl);
  if (stored === undefined) return undefined;
  const node = readIfThere(dir.node);
  if (node === undefined) throw damaged(dir.node);
  return { url: stored.trim(), node: parseNode(node, dir.node) };
}

/**
 * Writes both files. The second one makes it so: a first one alone is of an `svc init` that was
 * killed.
 */
export async function writeSharedDatabase(
  dir: DataDir,
  { url, node }: SharedDatabase,
): Promise<void> {
  await writeDurably(dir.node, `${JSON.stringify(node)}\n`);
  await writeDurably(dir.databaseUrl, `${url}\n`);
}

function parseNode(text: string, path: string): NodeIdentity {
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) {
      const { id, name } = value;
      if (typeof id === "string" && typeof name === "string") return { id, name };
    }
  } catch {
    // said below
  }
  throw damaged(path);
}

function damaged(path: string): AppError {
  return new AppError(
    "refused",
    `"${path}" is missing or damaged, and says which node this is: restore it from your backup`,
  );
}

function readIfThere(path: string): string | undefined {
  try {
    return readRegularText(path);
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) return undefined;
    throw new AppError("refused", `Cannot use "${path}": ${fileFault(cause)}`, { cause });
  }
}
