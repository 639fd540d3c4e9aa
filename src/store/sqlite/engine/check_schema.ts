/**
 * Checks that a database has exactly the schema that its migrations make. A foreign trigger or view
 * could read or change every row that is written.
 *
 * @module
 */

import { AppError } from "../../../base/errors.ts";
import { text } from "../../sql/columns.ts";
import { Database } from "./database.ts";
import { migrate, SCHEMA_VERSION, versionOf } from "./migrations.ts";

/** Most differences that are listed. */
const MAX_LISTED = 20;
/** Tables that SQLite itself adds for `ANALYZE`. */
const STATISTICS = /^table sqlite_stat[1-4]$/;

/** A table, index, trigger or view. */
interface Part {
  readonly type: string;
  readonly name: string;
  readonly table: string;
  /** As it stands in the file. */
  readonly raw: string;
  /** Without comments, and with one blank between words. */
  readonly sql: string;
}

/** The fault of a file that svc has not made. */
export const NOT_OURS = "It is not a database of svc";

/**
 * One sentence for each foreign, missing or different part of the schema. To be called before rows
 * are read: this evaluates no expression of the schema. SQLite's own checks of pages evaluate them,
 * and a foreign expression can take as long as it likes.
 */
export function findSchemaFaults(db: Database): string[] {
  const version = versionOf(db);
  if (version < 0) return [NOT_OURS];
  if (version > SCHEMA_VERSION) {
    return [
      `It was written by a newer svc (schema ${version}, this one knows ${SCHEMA_VERSION})`,
    ];
  }
  const found = partsOf(db);
  const expected = expectedParts(version);
  const faults: string[] = [];
  for (const [key, part] of found) {
    const known = expected.get(key);
    if (known === undefined) {
      if (STATISTICS.test(key) || isHarmless(db, part, expected)) continue;
      faults.push(`${nameOf(part)} was not made by svc${removalHint(part)}`);
    } else if (known.sql !== part.sql || known.table !== part.table) {
      faults.push(`${nameOf(part)} is not as svc creates it`);
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
    "The schema of the database is not what svc created: repair it with sqlite3 as listed " +
    "here, or restore a backup";
  throw new AppError("refused", message, { details });
}

/**
 * Whether a part is a plain table of another program, or an index on one, which cannot affect our
 * rows and has nothing that SQLite evaluates when it checks pages: programs that copy a database
 * while it is written (Litestream) keep their position in one.
 */
function isHarmless(db: Database, part: Part, expected: ReadonlyMap<string, Part>): boolean {
  const { type, name, table, raw, sql } = part;
  if (expected.has(`table ${table}`) || NOT_PLAIN.test(raw)) return false;
  if (type === "table") return /^CREATE TABLE /i.test(sql);
  return type === "index" &&
    db.get("SELECT 1 FROM pragma_index_xinfo(?) WHERE cid = -2", name) === undefined; // expression
}

/**
 * Words without which a table or an index has no expression, no collation of another program and no
 * reference to one of our tables. They are looked for in names and comments, too.
 */
const NOT_PLAIN = /\b(?:as|check|collate|references|where)\b|\bdefault(?!\s*(?:['"\w+]|-(?!-)))/i;

/** The parts of the schema by type and name. */
function partsOf(db: Database): ReadonlyMap<string, Part> {
  // A file that was edited by hand may hold bytes where SQLite takes them for text.
  const rows = db.all(
    `SELECT CAST(type AS TEXT) AS type, CAST(name AS TEXT) AS name,
       CAST(tbl_name AS TEXT) AS tbl_name, CAST(coalesce(sql, '') AS TEXT) AS sql
     FROM sqlite_schema`,
  );
  return new Map(rows.map((row) => {
    const [type, name, raw] = [text(row, "type"), text(row, "name"), text(row, "sql")];
    const part = { type, name, table: text(row, "tbl_name"), raw, sql: normalise(raw) };
    return [`${type} ${name}`, part];
  }));
}

/** Names of the tables that the migrations up to a version make. */
export function ownTables(version: number): readonly string[] {
  const parts = [...expectedParts(version).values()];
  return parts.filter(({ type }) => type === "table").map(({ name }) => name);
}

/** The schema after the migrations up to a version. */
function expectedParts(version: number): ReadonlyMap<string, Part> {
  using db = new Database(":memory:", { settings: "" });
  migrate(db, version);
  return partsOf(db);
}

/** More characters than any statement of svc has; a longer one is not examined. */
const MAX_LENGTH = 100_000;

/** A statement without comments, and with one blank between words. */
function normalise(sql: string): string {
  if (sql.length > MAX_LENGTH) return sql;
  return sql.replace(
    /('(?:[^']|'')*'|"(?:[^"]|"")*")|--[^\n]*|\/\*[^]*?\*\/|[ \t\n\f\r]+/g,
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
