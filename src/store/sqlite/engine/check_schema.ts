/**
 * Whether a database has the schema that its steps make, and nothing beside it: a trigger or a view
 * of somebody else would do as it likes with every row that is written.
 *
 * @module
 */

import { AppError } from "../../../base/errors.ts";
import { text } from "./columns.ts";
import { Database } from "./database.ts";
import { migrate, versionOf } from "./migrations.ts";

/** Most differences that are named. */
const NAMED = 20;
/** What SQLite itself adds when somebody has it look at its indexes (`ANALYZE`). */
const STATISTICS = /^table sqlite_stat[1-4]$/;

/** A table, index, trigger or view. */
interface Part {
  readonly type: string;
  readonly name: string;
  readonly table: string;
  readonly sql: string;
}

/** What is foreign, missing or different, one sentence each. */
export function findSchemaFaults(db: Database): string[] {
  const found = partsOf(db);
  const expected = expectedParts(versionOf(db));
  const faults: string[] = [];
  for (const [key, part] of found) {
    const known = expected.get(key);
    if (known === undefined) {
      if (STATISTICS.test(key) || isApart(part, expected)) continue;
      faults.push(`${nameOf(part)} was not made by svc${cure(part)}`);
    } else if (known.sql !== part.sql || known.table !== part.table) {
      faults.push(`${nameOf(part)} is not as svc makes it`);
    }
  }
  for (const [key, part] of expected) {
    if (!found.has(key)) faults.push(`${nameOf(part)} is missing`);
  }
  const more = faults.length - NAMED;
  return more > 0 ? [...faults.slice(0, NAMED), `and ${more} more`] : faults;
}

/**
 * Refuses to use a database with another schema.
 *
 * @throws {AppError} `refused`, with every difference.
 */
export function refuseOtherSchema(db: Database): void {
  const details = findSchemaFaults(db);
  if (details.length === 0) return;
  const message = "The database has another schema than svc gives it: mend it with sqlite3 as it " +
    "says here, or restore a backup";
  throw new AppError("refused", message, { details });
}

/**
 * Whether it is a plain table of another program, or an index on one, that can do nothing with rows
 * of ours: programs that copy a database as it is written (Litestream) keep their position in one.
 */
function isApart({ type, table, sql }: Part, expected: ReadonlyMap<string, Part>): boolean {
  const isPlain = type === "index" || type === "table" && /^CREATE TABLE /i.test(sql);
  return isPlain && !/\breferences\b/i.test(sql) && !expected.has(`table ${table}`);
}

/** The parts of the schema by type and name. */
function partsOf(db: Database): ReadonlyMap<string, Part> {
  const rows = db.all("SELECT type, name, tbl_name, coalesce(sql, '') AS sql FROM sqlite_schema");
  return new Map(rows.map((row) => {
    const [type, name] = [text(row, "type"), text(row, "name")];
    const part = { type, name, table: text(row, "tbl_name"), sql: normal(text(row, "sql")) };
    return [`${type} ${name}`, part];
  }));
}

/** What the steps up to a version make. */
function expectedParts(version: number): ReadonlyMap<string, Part> {
  using db = new Database(":memory:", { settings: "" });
  migrate(db, version);
  return partsOf(db);
}

/** A statement without what means nothing: comments, and blanks but for one between words. */
function normal(sql: string): string {
  return sql.replace(
    /('(?:[^']|'')*'|"(?:[^"]|"")*")|--[^\n]*|\/\*[^]*?\*\/|\s+/g,
    (_, quoted: string | undefined) => quoted ?? " ",
  ).replace(/ +/g, " ").replace(/ ?([(),]) ?/g, "$1").trim();
}

function nameOf({ type, name, table }: Part): string {
  const on = type === "trigger" || type === "index" ? ` on "${table}"` : "";
  return `The ${type} "${name}"${on}`;
}

/** How to take it out, where that touches no row. */
function cure({ type, name }: Part): string {
  if (type === "table") return "";
  return `: DROP ${type.toUpperCase()} "${name.replaceAll('"', '""')}"`;
}
