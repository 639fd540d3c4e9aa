/**
 * Queries for the newest rows of several values or projects: the newest of each are read from an
 * index, and those merged. Of one query over all values, PostgreSQL would read every row of them.
 *
 * @module
 */

import type { ListQuery } from "../../list_query.ts";
import { ordered, where } from "../../sql/queries.ts";
import type { SqlValue } from "../../sql/row.ts";
import type { Value } from "./connections.ts";

/**
 * An id, as the indexes have it that begin with a project. PostgreSQL takes no hints, and prefers to
 * walk along the primary key until it has met enough rows: through all of a table, where a project
 * has been quiet for long. This order is the same, and not that of the primary key.
 */
export const listed = (id: string): string => `${id} COLLATE "POSIX"`;

/** A query with its values. */
export interface Query {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** Where to find the newest rows. */
export interface NewestIn {
  /**
   * A table with an index of the project, the columns of `conditions`, that of `among`, and the id
   * as {@linkcode listed}.
   */
  readonly table: "tasks" | "deliveries" | "source_events" | "bindings";
  /** The column before the id, and its values. */
  readonly among?: { readonly column: string; readonly values: readonly string[] };
  /** Further conditions, as for {@linkcode where}; those of the id have it as {@linkcode listed}. */
  readonly conditions: Readonly<Record<string, SqlValue | undefined>>;
  /** Selects the ids of a clause as `id`, as {@linkcode listed}; those of `table` when absent. */
  readonly select?: (clause: string) => Query;
}

/** A query for the ids of the first rows of a list. */
export function newestIds(
  { table, among, conditions, select }: NewestIn,
  query: Pick<ListQuery, "project" | "limit" | "oldestFirst">,
): Query {
  const { clause, values } = where(
    Object.assign({ [`${table}.project = ?`]: query.project }, conditions),
  );
  const outer: string[] = [];
  const on: string[] = [];
  if (query.project === undefined) {
    outer.push(`(${eachProject(table)}) AS scope`);
    on.push(`${table}.project = scope.project`);
  }
  if (among !== undefined) {
    outer.push("unnest(?::text[]) AS among (value)");
    on.push(`${table}.${among.column} = among.value`);
  }
  const all = [...(clause === "" ? [] : [clause.slice("WHERE ".length)]), ...on].join(" AND ");
  const inner = (select ?? idsOf(table))(`WHERE ${all}`);
  const part = `LATERAL (${inner.sql} ${ordered(query)} LIMIT ?) AS newest`;
  return {
    sql: `SELECT newest.id COLLATE "C" AS id FROM ${[...outer, part].join(" CROSS JOIN ")}
      ${ordered(query)} LIMIT ?`,
    values: [
      ...(among === undefined ? [] : [among.values]),
      ...values,
      ...inner.values,
      query.limit,
      query.limit,
    ],
  };
}

const idsOf = (table: string) => (clause: string): Query => ({
  sql: `SELECT ${listed("id")} AS id FROM ${table} ${clause}`,
  values: [],
});

/** The projects in a table, each found by the one before: no other row is read. */
function eachProject(table: string): string {
  const next = (than: string) => `SELECT min(project) FROM ${table} WHERE project > ${than}`;
  return `WITH RECURSIVE found (project) AS (${next("''")} UNION ALL
      SELECT (${next("found.project")}) FROM found WHERE found.project IS NOT NULL)
    SELECT project FROM found WHERE project IS NOT NULL`;
}
