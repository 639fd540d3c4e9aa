/**
 * Reading columns: each function gives one type, and throws when the row does not hold it, which
 * would be a bug of ours and never a user's doing.
 *
 * @module
 */

import { AppError } from "../../../base/errors.ts";
import type { Row } from "./database.ts";

/** A text that is always there. */
export function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== "string") throw new TypeError(`Column ${column} holds no text`);
  return value;
}

/** A number that is always there. */
export function number(row: Row, column: string): number {
  const value = row[column];
  if (typeof value !== "number") throw new TypeError(`Column ${column} holds no number`);
  return value;
}

/**
 * A parsed JSON text that is always there.
 *
 * @throws {AppError} `internal` when somebody has changed the row past us.
 */
export function json(row: Row, column: string): unknown {
  const value = text(row, column);
  try {
    return JSON.parse(value);
  } catch {
    const id = row["id"] ?? row["name"] ?? "";
    const message = `Row "${id}" of the database holds no JSON in "${column}"`;
    throw new AppError("internal", `${message}: stop the daemon and see "svc db check"`);
  }
}

/** Bytes; empty where the column is null. */
export function bytes(row: Row, column: string): Uint8Array {
  const value = row[column];
  return value instanceof Uint8Array ? value : new Uint8Array();
}

/** `{[name]: value}` where the column has a number, else nothing to spread. */
export function optionalNumber<Name extends string>(
  row: Row,
  column: string,
  name: Name,
): { [K in Name]?: number } {
  const value = row[column];
  return typeof value === "number" ? { [name]: value } as { [K in Name]?: number } : {};
}

/** Text that reads back whole: SQLite cuts it at a NUL. */
export function storable(text: string): string {
  return text.replaceAll("\0", "\u2400");
}
