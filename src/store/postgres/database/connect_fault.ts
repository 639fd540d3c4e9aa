/**
 * Why a database cannot be connected to, as one sentence that says what to do.
 *
 * @module
 */

import { AppError, messageOf } from "../../../base/errors.ts";
import { type DatabaseAddress, placeOf } from "./database_url.ts";

/** `refused` where waiting does not help, and `overloaded` where it does. */
export function connectFault(given: unknown, address: DatabaseAddress): AppError {
  const isAway = given instanceof AppError && given.code === "overloaded";
  const error = isAway ? given.cause : given;
  if (error instanceof AppError) return error;
  const text = messageOf(error);
  const make = (code: "refused" | "overloaded", message: string) =>
    new AppError(code, message, { cause: error });
  const { user, database } = address;
  const at = placeOf(address);
  switch (codeOf(error)) {
    case "28P01":
      return make(
        "refused",
        `PostgreSQL at ${at} refuses the password of user "${user}": correct it in ~/.pgpass ` +
          "or in the address",
      );
    case "28000":
      return make(
        "refused",
        `PostgreSQL at ${at} does not let user "${user}" in (${text}): ${
          NOT_ENCRYPTED.test(text) ? "write sslmode=verify-full into the address" : "make the user"
        }, or allow it in pg_hba.conf`,
      );
    case "3D000":
      return make(
        "refused",
        `PostgreSQL at ${at} has no database "${database}": make it with "createdb ${database}"`,
      );
    case "42501":
      return make(
        "refused",
        `User "${user}" may not connect to database "${database}": run "GRANT CONNECT ON DATABASE ${database} TO ${user}"`,
      );
  }
  if (NO_TLS.test(text)) {
    return make(
      "refused",
      `PostgreSQL at ${at} does not encrypt connections: set "ssl = on" there, or write ` +
        "sslmode=disable into the address if the network between is private",
    );
  }
  if (OTHER_NAME.test(text)) {
    return make(
      "refused",
      `The certificate of PostgreSQL at ${at} is not for this name (${text}): write a name that it has into the address`,
    );
  }
  if (CERTIFICATE.test(text)) {
    return make(
      "refused",
      `The certificate of PostgreSQL at ${at} is not trusted (${text}): name the file of its ` +
        "CA with sslrootcert=FILE in the address",
    );
  }
  if (!isAway) {
    return make("refused", `The database at ${at} does not answer as PostgreSQL does (${text})`);
  }
  return make(
    "overloaded",
    `PostgreSQL at ${at} cannot be reached now (${text}): check that it runs, and that this ` +
      "machine may connect to it",
  );
}

const NOT_ENCRYPTED = /no encryption/;
const NO_TLS = /does not support SSL connections/;
const OTHER_NAME = /not valid for name|NotValidForName/i;
const CERTIFICATE = /certificate|CaUsedAsEndEntity|UnknownIssuer/i;

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
