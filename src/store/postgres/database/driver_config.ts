/**
 * An address as the driver takes it. Every part is given: the driver would take others from
 * variables of the environment.
 *
 * @module
 */

import { AppError } from "../../../base/errors.ts";
import { fileFault } from "../../../base/file_fault.ts";
import { findOtherWriter } from "../../../base/private_files.ts";
import { type Facts, RegularFile } from "../../../base/regular_file.ts";
import { type DatabaseAddress, parseDatabaseUrl } from "./database_url.ts";
import { type Env, readPassword } from "./password_file.ts";
import type { ServerConfig, TlsConfig } from "./pg.d.ts";

/**
 * The address that an URL names, for the user of the environment where it names none.
 *
 * @throws {AppError} `refused` when it cannot be used.
 */
export function toAddress(url: string, env: Env): DatabaseAddress {
  return parseDatabaseUrl(url, env("PGUSER") || env("USER") || undefined);
}

/** Variables of the environment that the driver itself reads. */
const TAKEN = ["PGOPTIONS", "PGCLIENT_ENCODING", "PGREPLICATION", "PGBINARY", "PGSSLNEGOTIATION"];

/**
 * Reads the files of certificates that the address names; the password is looked for whenever the
 * server asks for one. `onSecret` is called with it, and with the key of a certificate.
 *
 * @throws {AppError} `refused` when a file cannot be read, or a variable would change connections.
 */
export function toDriverConfig(
  address: DatabaseAddress,
  env: Env,
  onSecret: (secret: string) => void = () => {},
): ServerConfig {
  const { host, port, user, database } = address;
  const variable = TAKEN.find((name) => env(name));
  if (variable !== undefined) {
    throw new AppError(
      "refused",
      `The variable ${variable} would change what svc's connections to PostgreSQL do: unset it`,
    );
  }
  const ssl = toTls(address);
  if (ssl !== false && ssl.key !== undefined) onSecret(ssl.key);
  const password = async () => {
    const found = await readPassword(address, env);
    onSecret(found);
    onSecret(found.replace(/[\\:]/g, "\\$&")); // as it stands in the password file
    return found;
  };
  return { host, port, user, database, password, ssl };
}

function toTls({ sslmode, sslrootcert, sslcert, sslkey }: DatabaseAddress): TlsConfig | false {
  if (sslmode === "disable") return false;
  return {
    rejectUnauthorized: sslmode !== "require",
    ...(sslrootcert === undefined ? {} : { ca: read(sslrootcert) }),
    ...(sslcert === undefined ? {} : { cert: read(sslcert) }),
    ...(sslkey === undefined ? {} : { key: read(sslkey, findReader) }),
    // the authority that signed the certificate is checked, and not the name in it
    ...(sslmode === "verify-ca" ? { checkServerIdentity: () => undefined } : {}),
  };
}

/** Reads a file; the error says which other users can write to it, or what else is wrong. */
function read(
  path: string,
  findFault: (facts: Facts) => string | undefined = findOtherWriter,
): string {
  try {
    using file = RegularFile.open(path);
    const fault = findFault(file.facts);
    if (fault !== undefined) {
      throw new AppError("refused", `The certificate or key "${path}" ${fault}`);
    }
    return file.textSync();
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError("refused", `Cannot read the certificate "${path}": ${fileFault(cause)}`, {
      cause,
    });
  }
}

/** What PostgreSQL's own programs ask of a private key: its group may read one of root's. */
function findReader(info: Facts): string | undefined {
  const open = (info.mode ?? 0o777) & (info.uid === 0 ? 0o027 : 0o077);
  const cure = info.uid === 0 ? "chmod g-w,o-rwx" : "chmod go-rwx";
  return findOtherWriter(info) ?? (open === 0 ? undefined : `is open to others: ${cure} it`);
}
