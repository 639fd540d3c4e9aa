/**
 * Queries for the newest rows of several values or projects, which name the index that SQLite is to
 * use.
 *
 * @module
 */

import type { ListQuery } from "../../list_query.ts";
import { ordered, where } from "../../sql/queries.ts";
import type { SqlValue } from "../../sql/row.ts";
import type { Database } from "./database.ts";

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
