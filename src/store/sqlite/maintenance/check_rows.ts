/**
 * Finds rows that cannot be read: invalid JSON, and numbers that no double holds.
 *
 * @module
 */

import { isJsonObject } from "../../../base/json.ts";
import { number, text } from "../../sql/columns.ts";
import { ownTables } from "../engine/check_schema.ts";
import type { Database } from "../engine/database.ts";
import { versionOf } from "../engine/migrations.ts";

/** Columns whose text is a JSON object; a file of an earlier version lacks some of them. */
const JSON_COLUMNS: readonly (readonly [table: string, column: string])[] = [
  ["resources", "metadata"],
  ["resources", "spec"],
  ["plans", "plan"],
  ["deliveries", "detail"],
  ["deliveries", "headers"],
  ["steps", "outputs"],
  ["children", "outputs"],
  ["inbox", "message"],
  ["outbox", "target"],
  ["outbox", "body"],
  ["connections", "state"],
];

/** Large values are read as the last possible time, so no list fails on them. */
const MAY_BE_LARGE = "control_tokens.expires_at";

const LARGEST = Number.MAX_SAFE_INTEGER;

/** One sentence for each unreadable row of a table of svc, at most `most` of each column. */
export function findUnreadable(db: Database, most: number): string[] {
  const tables = new Map(
    ownTables(versionOf(db)).filter((name) => !name.startsWith("sqlite_"))
      .map((name) => [name, columnsOf(db, name)]),
  );
  const broken = JSON_COLUMNS.flatMap(([table, column]) => {
    const columns = tables.get(table) ?? [];
    if (!columns.some(({ name }) => name === column)) return [];
    const ids = findBrokenJson(db, { table, column, id: idOf(columns) });
    return ids.slice(0, most).map((id) =>
      `Row ${id} of table ${table} does not hold JSON in "${column}"`
    );
  });
  const large = [...tables].flatMap(([table, columns]) =>
    findLarge(db, { table, columns, most }).map((id) =>
      `Row ${id} of table ${table} holds a number that is too large`
    )
  );
  return [...broken, ...large];
}

interface ColumnFacts {
  readonly name: string;
  readonly type: string;
  readonly isKey: boolean;
}

function columnsOf(db: Database, table: string): readonly ColumnFacts[] {
  return db.all("SELECT name, type, pk FROM pragma_table_info(?)", table).map((row) => ({
    name: text(row, "name"),
    type: text(row, "type"),
    isKey: number(row, "pk") > 0,
  }));
}

/** Expression that identifies a row: the columns of its primary key. */
function idOf(columns: readonly ColumnFacts[]): string {
  const keys = columns.filter(({ isKey }) => isKey).map(({ name }) => quote(name));
  return keys.join(" || '/' || ");
}

/**
 * SQLite rejects valid JSON of more than a thousand levels: so its findings are checked again here.
 */
function findBrokenJson(
  db: Database,
  { table, column, id }: { table: string; column: string; id: string },
): string[] {
  const suspects = db.all(
    `SELECT ${id} AS id, ${column} AS value FROM ${quote(table)} WHERE ${column} IS NOT NULL
       AND CASE WHEN json_valid(${column}) THEN json_type(${column}) ELSE '' END <> 'object'`,
  );
  return suspects.filter((row) => !holdsObject(text(row, "value"))).map((row) => text(row, "id"));
}

function holdsObject(value: string): boolean {
  try {
    return isJsonObject(JSON.parse(value));
  } catch {
    return false;
  }
}

function findLarge(
  db: Database,
  { table, columns, most }: { table: string; columns: readonly ColumnFacts[]; most: number },
): string[] {
  const outside = columns
    .filter(({ name, type }) => type === "INTEGER" && `${table}.${name}` !== MAY_BE_LARGE)
    .map(({ name }) => `${quote(name)} NOT BETWEEN -${LARGEST} AND ${LARGEST}`);
  if (outside.length === 0) return [];
  const where = outside.join(" OR ");
  return db.all(
    `SELECT CAST(${idOf(columns)} AS TEXT) AS id FROM ${quote(table)} WHERE ${where} LIMIT ${most}`,
  ).map((row) => text(row, "id"));
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
