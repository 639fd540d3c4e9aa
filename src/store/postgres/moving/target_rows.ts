/**
 * Writes the rows of a table that moves here, and reads them back.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import {
  columnsOf,
  type ColumnType,
  isNumbered,
  type MovedTable,
} from "../../sql/moving/moved_table.ts";
import type { Row } from "../../sql/row.ts";
import type { Session } from "../database/connections.ts";

const quoted = (name: string) => `"${name}"`;

/** The arrays in which columns are sent; bytes come in one piece, with the place of each. */
const ARRAYS: Readonly<Record<Exclude<ColumnType, "bytes">, string>> = {
  text: "text[]",
  int: "bigint[]",
  real: "double precision[]",
};

/** Adds rows in their order, in one statement. */
export async function insertRows(
  db: Session,
  [name, table]: readonly [string, MovedTable],
  rows: readonly Row[],
): Promise<void> {
  const given: string[] = [];
  const arrays: string[] = [];
  const values: unknown[] = [];
  const add = (column: string, type: string, value: readonly unknown[]) => {
    given.push(quoted(column));
    values.push(value);
    arrays.push(`$${values.length}::${type}`);
  };
  const columns = Object.entries(table.columns);
  for (const [column, type] of columns) {
    if (type !== "bytes") add(column, ARRAYS[type], rows.map((row) => row[column] ?? null));
  }
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for (const column of columnsOf(table, "bytes")) {
    const places = rows.map((row) => {
      const value = row[column];
      if (!(value instanceof Uint8Array)) return null;
      parts.push(value);
      return (bytes += value.length) - value.length + 1;
    });
    add(`${column} from`, "int[]", places);
    add(`${column} length`, "int[]", rows.map((row) => (row[column] as Uint8Array | null)?.length));
  }
  values.push(Buffer.concat(parts));
  const selected = columns.map(([column, type]) =>
    type === "bytes"
      ? `substring($${values.length}::bytea FROM ${quoted(`${column} from`)} FOR ${
        quoted(`${column} length`)
      })`
      : quoted(column)
  );
  await db.native(
    `INSERT INTO ${name} (${columns.map(([column]) => quoted(column)).join(", ")})
     ${isNumbered(table) ? "OVERRIDING SYSTEM VALUE" : ""}
     SELECT ${selected.join(", ")} FROM unnest(${arrays.join(", ")}) AS given (${
      given.join(", ")
    })`,
    parts.length === 0 && columnsOf(table, "bytes").length === 0 ? values.slice(0, -1) : values,
  );
}

/** Rows of about the same size, and how many of them are fetched at once. */
const SIZES = [
  { from: 0, upTo: 1024, rows: 1000 },
  { from: 1024, upTo: 16 * 1024, rows: 100 },
  { from: 16 * 1024, upTo: 256 * 1024, rows: 8 },
  { from: 256 * 1024, upTo: undefined, rows: 1 },
];

/**
 * Reads every row of a table back, in any order; a few megabytes at a time. The bytes of rows of more
 * than 256 KiB are hashed by the server.
 */
export async function* readRows(
  db: Session,
  [name, table]: readonly [string, MovedTable],
): AsyncGenerator<readonly Row[]> {
  const sized = [...columnsOf(table, "text"), ...columnsOf(table, "bytes")];
  const size = sized.map((column) => `coalesce(octet_length(${quoted(column)}), 0)`).join(" + ");
  for (const { from, upTo, rows } of SIZES) {
    const columns = Object.entries(table.columns).map(([column, type]) =>
      type === "bytes" && upTo === undefined
        ? `encode(sha256(${quoted(column)}), 'hex') AS ${quoted(column)}`
        : quoted(column)
    );
    const below = upTo === undefined ? "" : `AND ${size} < ${upTo}`;
    await db.exec("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    try {
      await db.exec(
        `SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0;
         DECLARE moved NO SCROLL CURSOR FOR SELECT ${columns.join(", ")} FROM ${name}
           WHERE ${size} >= ${from} ${below}`,
      );
      for (;;) {
        const some = await db.all(`FETCH ${rows} FROM moved`);
        if (some.length === 0) break;
        yield some;
      }
    } finally {
      await db.exec("ROLLBACK");
    }
  }
}
