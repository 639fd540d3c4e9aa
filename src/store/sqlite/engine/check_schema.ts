/**
 * Checks that a database has exactly the schema that its migrations make. A foreign trigger or view
 * could read or change every row that is written.
 *
 * @module
 */

import { AppError } from "../../../base/errors.ts";
import { text } from "../../sql/columns.ts";
import { Database } from "./database.ts";
import { migrate, versionOf } from "./migrations.ts";

/** Most differences that are listed. */
const MAX_LISTED = 20;
/** Tables that SQLite itself adds for `ANALYZE`. */
const STATISTICS = /^table sqlite_stat[1-4]$/;

/** A table, index, trigger or view. */
interface Part {
  readonly type: string;
  readonly name: string;
  readonly table: string;
  readonly sql: string;
}

/** One sentence for each foreign, missing or different part of the schema. */
export function findSchemaFaults(db: Database): string[] {
  const found = partsOf(db);
  const expected = expectedParts(versionOf(db));
  const faults: string[] = [];
  for (const [key, part] of found) {
    const known = expected.get(key);
    if (known === undefined) {
      if (STATISTICS.test(key) || isHarmlessTable(part, expected)) continue;
      faults.push(`${nameOf(part)} was not made by svc${removalHint(part)}`);
    } else if (known.sql !== part.sql || known.table !== part.table) {
      faults.push(`${nameOf(part)} is not as svc makes it`);
    }
  }
  for (const [key, part] of expected) {
    if (!found.has(key)) faults.push(`${nameOf(part)} is missing`);
  }
  const more = faults.length - MAX_LISTED;
  return more > 0 ? [...faults.slice(0, MAX_LISTED), `and ${more} more`] : faults;
}

/**
 * Refuses to use a database with another schema.
 *
 * @throws {AppError} `refused`, with every difference.
 */
export function refuseOtherSchema(db: Database): void {
  const details = findSchemaFaults(db);
  if (details.length === 0) return;
  const message =
    "The schema of the database is not the one svc makes: repair it with sqlite3 as listed " +
    "here, or restore a backup";
  throw new AppError("refused", message, { details });
}

/**
 * Whether a part is a plain table of another program, or an index on one, which cannot affect our
 * rows: programs that copy a database while it is written (Litestream) keep their position in one.
 */
function isHarmlessTable({ type, table, sql }: Part, expected: ReadonlyMap<string, Part>): boolean {
  const isPlain = type === "index" || type === "table" && /^CREATE TABLE /i.test(sql);
  return isPlain && !/\breferences\b/i.test(sql) && !expected.has(`table ${table}`);
}

/** The parts of the schema by type and name. */
function partsOf(db: Database): ReadonlyMap<string, Part> {
  const rows = db.all("SELECT type, name, tbl_name, coalesce(sql, '') AS sql FROM sqlite_schema");
  return new Map(rows.map((row) => {
    const [type, name] = [text(row, "type"), text(row, "name")];
    const part = { type, name, table: text(row, "tbl_name"), sql: normalise(text(row, "sql")) };
    return [`${type} ${name}`, part];
  }));
}

/** The schema after the migrations up to a version. */
function expectedParts(version: number): ReadonlyMap<string, Part> {
  using db = new Database(":memory:", { settings: "" });
  migrate(db, version);
  return partsOf(db);
}

/** A statement without comments, and with one blank between words. */
function normalise(sql: string): string {
  return sql.replace(
    /('(?:[^']|'')*'|"(?:[^"]|"")*")|--[^\n]*|\/\*[^]*?\*\/|\s+/g,
    (_, quoted: string | undefined) => quoted ?? " ",
  ).replace(/ +/g, " ").replace(/ ?([(),]) ?/g, "$1").trim();
}

function nameOf({ type, name, table }: Part): string {
  const on = type === "trigger" || type === "index" ? ` on "${table}"` : "";
  return `The ${type} "${name}"${on}`;
}

/** How to remove a foreign part, where that touches no row. */
function removalHint({ type, name }: Part): string {
  if (type === "table") return "";
  return `: DROP ${type.toUpperCase()} "${name.replaceAll('"', '""')}"`;
}
