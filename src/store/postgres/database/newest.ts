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

/** A query with its values. */
export interface Query {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** Where to find the newest rows. */
export interface NewestIn {
  /**
   * A table with an index of the project if it has one, the columns of `conditions`, that of
   * `among`, and the id.
   */
  readonly table: "tasks" | "deliveries" | "source_events" | "bindings" | "plugin_audit";
  /** Whether the rows of each project are together in that index. */
  readonly byProject: boolean;
  /** The column before the id, and its values. */
  readonly among?: { readonly column: string; readonly values: readonly string[] };
  /** Further conditions, as for {@linkcode where}. */
  readonly conditions: Readonly<Record<string, SqlValue | undefined>>;
  /** Selects the ids of the rows of a clause; those of `table` when absent. */
  readonly select?: (clause: string) => Query;
}

/** A query for the ids of the first rows of a list. */
export function newestIds(
  { table, byProject, among, conditions, select }: NewestIn,
  query: Pick<ListQuery, "project" | "limit" | "oldestFirst">,
): Query {
  const { clause, values } = where(
    Object.assign({ [`${table}.project = ?`]: query.project }, conditions),
  );
  const outer: string[] = [];
  const on: string[] = [];
  if (byProject && query.project === undefined) {
    outer.push(`(${eachProject(table)}) AS scope`);
    on.push(`${table}.project = scope.project`);
  }
  if (among !== undefined) {
    outer.push("unnest(?::text[]) AS among (value)");
    on.push(`${table}.${among.column} = among.value`);
  }
  const all = [clause.replace(/^WHERE /, ""), ...on].filter((one) => one !== "").join(" AND ");
  const inner = (select ?? idsOf(table))(all === "" ? "" : `WHERE ${all}`);
  const part = `(${inner.sql} ${ordered(query)} LIMIT ?)`;
  return {
    sql: `SELECT newest.id FROM ${[...outer, `LATERAL ${part} AS newest`].join(" CROSS JOIN ")}
      ${ordered(query, "newest.id")} LIMIT ?`,
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
  sql: `SELECT id FROM ${table} ${clause}`,
  values: [],
});

/** The projects in a table, each found by the one before: no other row is read. */
function eachProject(table: string): string {
  const next = (than: string) => `SELECT min(project) FROM ${table} WHERE project > ${than}`;
  return `WITH RECURSIVE found (project) AS (${next("''")} UNION ALL
      SELECT (${next("found.project")}) FROM found WHERE found.project IS NOT NULL)
    SELECT project FROM found WHERE project IS NOT NULL`;
}
