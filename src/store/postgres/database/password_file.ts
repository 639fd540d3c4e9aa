/**
 * The password file of PostgreSQL's programs, `~/.pgpass` or `$PGPASSFILE`: a line for each password,
 * `host:port:database:user:password`.
 *
 * @module
 */

import { AppError } from "../../../base/errors.ts";
import { fileFault } from "../../../base/file_fault.ts";
import { RegularFile } from "../../../base/regular_file.ts";
import { type DatabaseAddress, isSocket } from "./database_url.ts";

/** Reads an environment variable. */
export type Env = (name: string) => string | undefined;

/**
 * The password of an address: its own, or that of the file.
 *
 * @throws {AppError} `refused` when there is none, or the file cannot be used.
 */
export function readPassword(address: DatabaseAddress, env: Env): string {
  if (address.password !== undefined) return address.password;
  const path = env("PGPASSFILE") || `${env("HOME") ?? ""}/.pgpass`;
  const password = findPassword(readIfThere(path), address);
  if (password !== undefined) return password;
  const { port, database, user } = address;
  throw new AppError(
    "refused",
    `The database asks for a password of user "${user}": write a line ` +
      `"${hostIn(address)}:${port}:${database}:${user}:PASSWORD" into "${path}"`,
  );
}

/** The password of the first line of such a file that names an address, or `*` in its place. */
export function findPassword(file: string, address: DatabaseAddress): string | undefined {
  const wanted = [hostIn(address), String(address.port), address.database, address.user];
  for (const line of file.split("\n")) {
    if (line.startsWith("#")) continue;
    // a colon or backslash within a field has a backslash before it
    const fields = line.replace(/\r$/, "").match(/(?:\\.|[^:\\])*(?::|$)/g) ?? [];
    const [password = "", ...rest] = [fields.slice(4).join(""), ...fields.slice(0, 4)];
    const names = rest.map((field) => unescaped(field.slice(0, -1)));
    if (
      names.length === 4 && names.every((name, at) => name === "*" || name === wanted[at])
    ) return unescaped(password);
  }
  return undefined;
}

/** Directories of sockets that the file has as `localhost`. */
const DEFAULT_SOCKETS = ["/var/run/postgresql", "/run/postgresql", "/tmp"];

function hostIn({ host }: DatabaseAddress): string {
  return isSocket(host) && DEFAULT_SOCKETS.includes(host) ? "localhost" : host;
}

const unescaped = (field: string) => field.replaceAll(/\\(.)/g, "$1");

function readIfThere(path: string): string {
  try {
    using file = RegularFile.open(path);
    const { mode } = file.facts;
    if (mode !== null && (mode & 0o077) !== 0) {
      throw new AppError(
        "refused",
        `The password file "${path}" is open to others: run "chmod 600 ${path}"`,
      );
    }
    return file.textSync();
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    if (cause instanceof Deno.errors.NotFound) return "";
    const message = `Cannot read the password file "${path}": ${fileFault(cause)}`;
    throw new AppError("refused", message, { cause });
  }
}
