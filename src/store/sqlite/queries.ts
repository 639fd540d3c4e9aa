/**
 * Small pieces of SQL that several tables share.
 *
 * @module
 */

import type { SqlValue } from "./database.ts";

/** A WHERE clause of the conditions (`column = ?`) that have a value, and those values in order. */
export function where(
  conditions: Readonly<Record<string, SqlValue | undefined>>,
): { clause: string; values: SqlValue[] } {
  const given = Object.entries(conditions).filter((entry): entry is [string, SqlValue] =>
    entry[1] !== undefined
  );
  return {
    clause: given.length === 0
      ? ""
      : `WHERE ${given.map(([condition]) => condition).join(" AND ")}`,
    values: given.map(([, value]) => value),
  };
}

/** The first text after every text that starts with `prefix`; ids are ASCII. */
export function prefixEnd(prefix: string): string {
  return `${prefix}\u{7f}`;
}
