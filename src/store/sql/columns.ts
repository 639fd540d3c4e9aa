/**
 * Reads columns. Each function returns one type, and throws if the column has another, which is a
 * bug of svc and never a mistake of a user.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import type { Row } from "./row.ts";

/** A text that is never null. */
export function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== "string") throw new TypeError(`Column ${column} is not text`);
  return value;
}

/** A number that is never null. */
export function number(row: Row, column: string): number {
  const value = row[column];
  if (typeof value !== "number") throw new TypeError(`Column ${column} is not a number`);
  return value;
}

/**
 * A parsed JSON text that is never null.
 *
 * @throws {AppError} `internal` when the row was changed by another program.
 */
export function json(row: Row, column: string): unknown {
  const value = text(row, column);
  try {
    return JSON.parse(value);
  } catch {
    const id = row["id"] ?? row["name"] ?? "";
    const message = `Row "${id}" of the database does not hold JSON in "${column}"`;
    throw new AppError("internal", `${message}: stop the daemon and see "svc db check"`);
  }
}

/** Bytes; empty where the column is null. */
export function bytes(row: Row, column: string): Uint8Array<ArrayBuffer> {
  const value = row[column];
  return value instanceof Uint8Array ? value as Uint8Array<ArrayBuffer> : new Uint8Array();
}

/** `{[name]: value}` where the column has a number, else an empty object to spread. */
export function optionalNumber<Name extends string>(
  row: Row,
  column: string,
  name: Name,
): { [K in Name]?: number } {
  const value = row[column];
  return typeof value === "number" ? { [name]: value } as { [K in Name]?: number } : {};
}

/** The text with every NUL replaced: SQLite would cut it there, and PostgreSQL refuses it. */
export function storable(text: string): string {
  return text.replaceAll("\0", "\u2400");
}
