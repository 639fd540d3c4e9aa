/**
 * Small pieces of SQL that several tables share.
 *
 * @module
 */

import type { SqlValue } from "./database.ts";

/** A WHERE clause over the columns that have a value, and those values in order. */
export function where(
  columns: Readonly<Record<string, SqlValue | undefined>>,
): { clause: string; values: SqlValue[] } {
  const given = Object.entries(columns).filter((entry): entry is [string, SqlValue] =>
    entry[1] !== undefined
  );
  if (given.length === 0) return { clause: "", values: [] };
  return {
    clause: `WHERE ${given.map(([column]) => `${column} = ?`).join(" AND ")}`,
    values: given.map(([, value]) => value),
  };
}

/** The first text after every text that starts with `prefix`; ids are ASCII. */
export function prefixEnd(prefix: string): string {
  return `${prefix}\u{7f}`;
}
