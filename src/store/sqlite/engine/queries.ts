/**
 * Small pieces of SQL that several tables share.
 *
 * @module
 */

import { rfc3339 } from "../../../base/clock.ts";
import { firstIdAt } from "../../../base/ids.ts";
import type { ListQuery, ListRange } from "../../list_query.ts";
import type { Database, SqlValue } from "./database.ts";

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

/** An event that gives its own id has one for its own time, such as that of a missed run. */
const ID_SLACK_MS = 2 * 3600 * 1000;

/** An id below which no row from after `since` lies, so that a query can skip older rows. */
export function oldestIdSince(since: number): string {
  return firstIdAt(since - ID_SLACK_MS);
}

/** Longest time from a record's own time until its id was made: its request was read meanwhile. */
const ID_DELAY_MS = 10 * 60 * 1000;

/**
 * The conditions on the id by which a query reads only its part of a list, one at each end: of two
 * at one end, SQLite would begin at either.
 */
export function idRange(
  { since, until, before, after, to, ids, oldestFirst = false }: ListRange,
  column = "id",
): Readonly<Record<string, SqlValue | undefined>> {
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
): Readonly<Record<string, SqlValue | undefined>> {
  return Object.assign(
    { [`${time} >= ?`]: query.since, [`${time} <= ?`]: query.until },
    idRange(query),
  );
}

/** The same where times are RFC 3339 text. */
export function textRange(
  query: ListRange,
  time: string,
): Readonly<Record<string, SqlValue | undefined>> {
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

/** Where to find the newest rows. */
export interface NewestIn {
  readonly table: "tasks" | "deliveries" | "plugin_audit";
  /**
   * An index whose last columns are `column` and the id; the columns before have one value each.
   */
  readonly index: string;
  /** The column before the id. */
  readonly column: "state" | "outcome" | "result";
  /** Values of that column, none of them from outside. */
  readonly among: readonly string[];
  /** Further conditions, as for {@linkcode where}. */
  readonly conditions: Readonly<Record<string, SqlValue | undefined>>;
  readonly limit: number;
  /** Whether the oldest rows are wanted instead. */
  readonly oldestFirst?: boolean;
}

/**
 * A query for the ids of the newest rows with one of several values in a column. It merges the
 * newest rows of each value, so that it reads no others, however many there are.
 */
export function newestIds(
  { table, index, column, among, conditions, limit, oldestFirst = false }: NewestIn,
): { sql: string; values: SqlValue[] } {
  if (among.length === 0) return { sql: "SELECT NULL AS id LIMIT 0", values: [] };
  const parts = among.map((value) => ({
    ...where({ ...conditions, [`${column} = ?`]: value }),
    from: `SELECT id FROM ${table} INDEXED BY ${index}`,
  }));
  return {
    sql: parts.map(({ from, clause }) => `${from} ${clause}`).join(" UNION ALL ") +
      ` ${ordered({ oldestFirst })} LIMIT ?`,
    values: [...parts.flatMap(({ values }) => values), limit],
  };
}

/**
 * The first rows of a list over all projects, for queries whose index begins with the project:
 * fetches as many of each project, and returns the first of those.
 */
export function ofEachProject<Query extends ListQuery, Item extends { readonly id: string }>(
  db: Database,
  table: "tasks" | "deliveries" | "source_events" | "bindings",
  query: Query,
  list: (db: Database, query: Query) => Item[],
): Item[] {
  const found: Item[] = [];
  for (let project = "";;) {
    const row = db.get(`SELECT min(project) AS next FROM ${table} WHERE project > ?`, project);
    if (typeof row?.["next"] !== "string") break;
    found.push(...list(db, { ...query, project: project = row["next"] }));
  }
  const back = query.oldestFirst === true ? -1 : 1;
  return found.toSorted((a, b) => a.id < b.id ? back : -back).slice(0, query.limit);
}
