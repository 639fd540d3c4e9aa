/**
 * The PostgreSQL of a data directory, and its node there: two small files, which `svc init
 * --database` makes. Without them the data directory has a database of its own.
 *
 * @module
 */

import type { DataDir } from "../base/data_dir.ts";
import { writeDurably } from "../base/durable_files.ts";
import { AppError } from "../base/errors.ts";
import { fileFault } from "../base/file_fault.ts";
import { isJsonObject } from "../base/json.ts";
import { readRegularText } from "../base/regular_file.ts";
import { holdsPassword, nameOf } from "../store/postgres/database/database_url.ts";
import { toAddress } from "../store/postgres/database/driver_config.ts";

/** A database that several daemons share. */
export interface SharedDatabase {
  /** The stored address, as `postgres://user@host/database`. */
  readonly url: string;
  /** This data directory among those that share the database. */
  readonly node: NodeIdentity;
}

/** A data directory, as the other daemons know it. */
export interface NodeIdentity {
  readonly id: string;
  /** For people; unique in the database. */
  readonly name: string;
}

/** Replaces the address in the data directory, so that it may hold a password. */
export const URL_VARIABLE = "SVC_DATABASE_URL";

/** The address to connect to: that of the variable, or the `stored` one. */
export function addressOf(stored: string, env: (name: string) => string | undefined): string {
  return env(URL_VARIABLE) || stored;
}

/**
 * Refuses an address with a password, and a variable that names another database than `option`: it may
 * add a password, or another user, and no more.
 *
 * @throws {AppError} `refused`.
 */
export function refuseAddress(
  named: string,
  env: (name: string) => string | undefined,
  option: "--database" | "--to",
): void {
  if (holdsPassword(named)) {
    throw new AppError(
      "refused",
      "The address of the database holds a password, and other users of this machine can read " +
        "command lines: write it into ~/.pgpass, or set SVC_DATABASE_URL to the whole address",
    );
  }
  const [given, variable] = [named, addressOf(named, env)].map((url) =>
    nameOf(toAddress(url, env))
  );
  if (given === variable) return;
  throw new AppError(
    "refused",
    `${option} names ${given}, and ${URL_VARIABLE}, which wins, names ${variable}: unset it, or ` +
      "name the same database in both",
  );
}

/**
 * The database that this data directory shares; `undefined` if it has one of its own.
 *
 * @throws {AppError} `refused` when one of the files is missing, or cannot be read.
 */
export function findSharedDatabase(dir: DataDir): SharedDatabase | undefined {
  const stored = readIfThere(dir.databaseUrl);
  if (stored === undefined) return undefined;
  const node = readIfThere(dir.node);
  if (node === undefined) throw damaged(dir.node);
  return { url: stored.trim(), node: parseNode(node, dir.node) };
}

/**
 * Writes both files, that of the address last: a node alone is left over from an `svc init` that was
 * killed, and counts for nothing.
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
    // The code below refuses it.
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
