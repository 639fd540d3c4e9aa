/**
 * Small pieces of SQL that several tables share, in both databases.
 *
 * @module
 */

import { rfc3339 } from "../../base/clock.ts";
import { firstIdAt } from "../../base/ids.ts";
import type { ListRange } from "../list_query.ts";
import type { SqlValue } from "./row.ts";

/** Conditions (`column = ?`), each with its value; one without a value does not count. */
export type Conditions = Readonly<Record<string, SqlValue | undefined>>;

/** A WHERE clause, empty where there is no condition, and the values for its placeholders in order. */
export interface WhereClause {
  clause: string;
  values: SqlValue[];
}

/** The clause of the conditions that have a value. */
export function where(conditions: Conditions): WhereClause {
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

/**
 * Most time by which an id may be older than its record: the id of an event for a missed run, for
 * example, has the time of that run.
 */
const ID_SLACK_MS = 2 * 3600 * 1000;

/** An id below which no row from after `since` lies, so that a query can skip older rows. */
export function oldestIdSince(since: number): string {
  return firstIdAt(since - ID_SLACK_MS);
}

/**
 * Longest time from the time of a record, when its request began, until its id is made, when the
 * request has been read.
 */
const ID_DELAY_MS = 10 * 60 * 1000;

/**
 * The conditions on the id by which a query reads only its part of a list, one at each end: of two
 * at one end, SQLite would begin at either.
 */
export function idRange(
  { since, until, before, after, to, ids, oldestFirst = false }: ListRange,
  column = "id",
): Conditions {
  const behind = (id: string | undefined) => id === undefined ? [] : [`${id}!`]; // before every digit
  const given = (id: string | undefined) => id === undefined ? [] : [id];
  const least = [
    ...behind(after),
    ...(since === undefined ? [] : [oldestIdSince(since)]),
    ...(oldestFirst ? [] : given(to)),
  ].toSorted();
  const end = [
    ...given(before),
    ...(until === undefined ? [] : [firstIdAt(until + ID_DELAY_MS)]),
    ...(oldestFirst ? behind(to) : []),
  ].toSorted();
  return {
    [`${column} >= ?`]: least.at(-1),
    [`${column} < ?`]: end[0],
    [`${column} IN (SELECT value FROM json_each(?))`]: ids && JSON.stringify(ids),
  };
}

/** The conditions by which a query reads only its part of a list; `time` is the column of times. */
export function listRange(
  query: ListRange,
  time: string,
  column = "id",
): Conditions {
  return Object.assign(
    { [`${time} >= ?`]: query.since, [`${time} <= ?`]: query.until },
    idRange(query, column),
  );
}

/** As `listRange`, for a column of times that are RFC 3339 text. */
export function textRange(
  query: ListRange,
  time: string,
): Conditions {
  const asText = (ms: number | undefined) => ms === undefined ? undefined : rfc3339(ms);
  return Object.assign(
    { [`${time} >= ?`]: asText(query.since), [`${time} <= ?`]: asText(query.until) },
    idRange(query),
  );
}

/** The end of a query that gives its records in the order of the list. */
export function ordered({ oldestFirst = false }: ListRange, column = "id"): string {
  return `ORDER BY ${column} ${oldestFirst ? "ASC" : "DESC"}`;
}

/** A statement that inserts rows, which all have the same columns. */
export function insertion(
  table: string,
  rows: readonly Readonly<Record<string, SqlValue>>[],
): { sql: string; values: SqlValue[] } {
  const columns = Object.keys(rows[0] ?? {});
  const one = `(${columns.map(() => "?").join(", ")})`;
  return {
    sql: `INSERT INTO ${table} (${columns.map((column) => `"${column}"`).join(", ")})
      VALUES ${rows.map(() => one).join(", ")}`,
    values: rows.flatMap((row) => columns.map((column) => row[column] ?? null)),
  };
}
