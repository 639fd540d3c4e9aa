/**
 * The address of a database, as it is written (`postgres://user@host/database`). What it means is
 * decided here and nowhere else: no part of it is left to a default of the driver.
 *
 * @module
 */

import { defined } from "../../../base/defined.ts";
import { AppError } from "../../../base/errors.ts";

/** How connections are protected, in PostgreSQL's words. */
export type SslMode = "disable" | "require" | "verify-ca" | "verify-full";

/** The parts of the address of a database. */
export interface DatabaseAddress {
  /** A name or an address, or the directory of a socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  /** Absent where it is not in the address. */
  readonly password?: string;
  readonly sslmode: SslMode;
  /** Path of a file with the certificates of the authorities that may sign the server's. */
  readonly sslrootcert?: string;
  /** Path of the certificate that this daemon shows, and of its key. */
  readonly sslcert?: string;
  readonly sslkey?: string;
}

const PARAMETERS = ["host", "port", "user", "sslmode", "sslrootcert", "sslcert", "sslkey"] as const;
type Parameter = typeof PARAMETERS[number];

const DEFAULT_PORT = 5432;

/**
 * Parses an address; `osUser` is the user if the address names none.
 *
 * @throws {AppError} `refused`; a password is in no message.
 */
export function parseDatabaseUrl(text: string, osUser?: string): DatabaseAddress {
  const url = toUrl(text);
  const given = parametersOf(url);
  const host = given.host ?? unescaped(url.hostname.replace(/^\[(.*)\]$/, "$1"));
  const user = given.user ?? (unescaped(url.username) || osUser);
  const database = unescaped(url.pathname.slice(1));
  if (host === "" || host.includes(",")) {
    throw refused("names no host, or several: give only the primary");
  }
  if (user === undefined) throw refused('names no user: write it as "postgres://USER@…"');
  if (database === "") {
    throw refused('names no database: write it as "postgres://user@host/DATABASE"');
  }
  const { sslrootcert, sslcert, sslkey } = given;
  if ((sslcert === undefined) !== (sslkey === undefined)) {
    throw refused("has only one of sslcert and sslkey: a certificate needs its key");
  }
  return {
    host,
    port: toPort(given.port ?? url.port),
    user,
    database,
    ...(url.password === "" ? {} : { password: unescaped(url.password) }),
    sslmode: toSslMode(given.sslmode, host),
    ...defined({ sslrootcert }),
    ...(sslcert === undefined || sslkey === undefined ? {} : { sslcert, sslkey }),
  };
}

/** Whether an address holds a password, which others see where it stands in a command line. */
export function holdsPassword(text: string): boolean {
  return (URL.parse(text)?.password ?? "") !== "";
}

/** Whether a host is the path of a directory with a socket in it. */
export function isSocket(host: string): boolean {
  return host.startsWith("/");
}

/** A database for people: its name and its server. */
export function placeOf({ host, port }: DatabaseAddress): string {
  if (isSocket(host)) return `the socket ${host}/.s.PGSQL.${port}`;
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** A database in words. */
export function nameOf(address: DatabaseAddress): string {
  return `PostgreSQL "${address.database}" at ${placeOf(address)}`;
}

function toUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw refused('is none: write it as "postgres://user@host/database"');
  }
  return url;
}

function parametersOf(url: URL): { readonly [Name in Parameter]?: string } {
  const given: { [Name in Parameter]?: string } = {};
  for (const [name, value] of url.searchParams) {
    const known = PARAMETERS.find((one) => one === name);
    if (known === undefined) {
      throw refused(`has "${name}", which is not one of ${PARAMETERS.join(", ")}`);
    }
    given[known] = value;
  }
  return given;
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refused("has a % that starts no escape: write it as %25");
  }
}

function toPort(text: string): number {
  if (text === "") return DEFAULT_PORT;
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535) throw refused(`has no port in "${text}"`);
  return port;
}

/** Nothing is encrypted within a machine, everything else is, for certain. */
function toSslMode(text: string | undefined, host: string): SslMode {
  switch (text) {
    case undefined:
      return isLocal(host) ? "disable" : "verify-full";
    case "disable":
    case "require":
    case "verify-ca":
    case "verify-full":
      return text;
    case "allow":
    case "prefer":
      throw refused(
        `has sslmode=${text}, which an attacker on the way could turn off: write ` +
          "verify-full",
      );
    default:
      throw refused(`has sslmode=${text}: write verify-full, verify-ca, require or disable`);
  }
}

function isLocal(host: string): boolean {
  return isSocket(host) || host === "localhost" || host === "::1" || /^127(\.\d+){3}$/.test(host);
}

function refused(what: string): AppError {
  return new AppError("refused", `The address of the database ${what}`);
}
