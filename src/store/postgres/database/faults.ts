/**
 * Errors of PostgreSQL and its driver as errors of the program. Pure.
 *
 * @module
 */

import { AppError, messageOf } from "../../../base/errors.ts";

/**
 * SQLSTATEs of a transaction that is worth another try: a deadlock, and a serialization failure.
 */
const IN_THE_WAY = new Set(["40P01", "40001"]);
/**
 * SQLSTATEs and codes of Node that say that the database cannot be reached or written now: classes
 * 08 (connection), 28 (authorization), 53 (resources), 57P (shutdown), a database that is not
 * there, a statement or a pause that took too long, and a machine without descriptors.
 */
const AWAY =
  /^(08|28|3D|53|57P|57014|25006|25P03|ECONN|ENOENT|EPIPE|ETIMEDOUT|EHOST|ENET|EAI_|EMFILE|ENFILE|ENOMEM|ENOBUFS|EADDRNOTAVAIL)/;
/** SQLSTATEs of the server's own faults, classes 58 (system, files) and XX (its rows, itself). */
const ITS_FAULT = /^(58|XX)/;
/** Texts of `pg` where it has no code. */
const AWAY_TEXT =
  /Connection terminated|timeout exceeded when trying to connect|connection error|Query read timeout/i;

const codeOf = (error: unknown) =>
  error instanceof Error && "code" in error ? String(error.code) : "";
/** Whether another try of its transaction is worth it. */
export const isInTheWay = (error: unknown) => IN_THE_WAY.has(codeOf(error));

/** Whether its connection is of no use any more, or the database. */
export function isBroken(error: unknown): boolean {
  return error instanceof Error && (AWAY.test(codeOf(error)) || AWAY_TEXT.test(error.message));
}

/**
 * Converts a fault of the database to an {@linkcode AppError} `overloaded`; gives any other error
 * as it is.
 */
export function fromPostgresError(error: unknown): unknown {
  if (error instanceof AppError) return error;
  if (isBroken(error)) return notNow("reached", error);
  return ITS_FAULT.test(codeOf(error)) || isInTheWay(error) ? notNow("used", error) : error;
}

function notNow(what: string, error: unknown): AppError {
  const message = `The database cannot be ${what} now: ${messageOf(error)}`;
  return new AppError("overloaded", message, { cause: error });
}

/** Whether a fault may be of one row or one call, so that others may succeed meanwhile. */
export function isOfOneCall(error: unknown): boolean {
  const { cause } = error instanceof AppError ? error : { cause: error };
  return ITS_FAULT.test(codeOf(cause)) || isInTheWay(cause);
}
