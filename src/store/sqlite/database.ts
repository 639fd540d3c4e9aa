/**
 * The door to SQLite, the only importer of `node:sqlite`: one connection, its settings, its prepared
 * statements, and errors in the program's own words.
 *
 * @module
 */

import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { AppError, messageOf } from "../../base/errors.ts";

/** A value of a column. Times are integers in milliseconds, flags 0 or 1, bodies blobs. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/** A row by column name. */
export type Row = Record<string, SqlValue>;

/** Of the one connection that writes; every commit is synced (security 6). */
const WRITER_SETTINGS = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; " +
  "PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;";

/** One connection. Statements are prepared once and kept (2.8M/s against 0.16M/s). */
export class Database implements Disposable {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  /** Opens the file at `path`; a read-only connection leaves nothing behind. */
  constructor(path: string, options: { readOnly?: boolean } = {}) {
    this.#db = new DatabaseSync(path, { readOnly: options.readOnly === true });
    try {
      this.#db.exec("PRAGMA busy_timeout = 5000; PRAGMA trusted_schema = OFF;");
      if (options.readOnly !== true) this.#db.exec(WRITER_SETTINGS);
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  /** Runs statements that give no rows and take no values. */
  exec(sql: string): void {
    this.#db.exec(sql);
  }

  /** Runs one statement; the number of rows it changed. */
  run(sql: string, ...values: SqlValue[]): number {
    return Number(this.#prepare(sql).run(...values as SQLInputValue[]).changes);
  }

  /** The first row, if there is one. */
  get(sql: string, ...values: SqlValue[]): Row | undefined {
    return this.#prepare(sql).get(...values as SQLInputValue[]) as Row | undefined;
  }

  /** Every row. */
  all(sql: string, ...values: SqlValue[]): Row[] {
    return this.#prepare(sql).all(...values as SQLInputValue[]) as Row[];
  }

  /** Runs `work` in one write transaction, synced before this returns; undone when it throws. */
  transaction<T>(work: () => T): T {
    this.run("BEGIN IMMEDIATE");
    try {
      const result = work();
      this.run("COMMIT");
      return result;
    } catch (error) {
      this.rollback();
      throw error;
    }
  }

  /** Undoes the open transaction; SQLite has done so itself after some errors (disk full). */
  rollback(): void {
    if (this.#db.isTransaction) this.run("ROLLBACK");
  }

  /** Folds the write-ahead log into the file and closes it. */
  [Symbol.dispose](): void {
    this.#statements.clear();
    this.#db.close();
  }

  #prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const made = this.#db.prepare(sql);
    this.#statements.set(sql, made);
    return made;
  }
}

/** Primary result codes of SQLite that mean "not now": busy, locked, read-only, I/O, full, cannot open. */
const TEMPORARY = new Set([5, 6, 8, 10, 13, 14]);
/** Result codes that mean the file is no sound database. */
const DAMAGED = new Set([11, 26]);

/** Deno gives errors of `exec` and of opening no code, only SQLite's own fixed text for it. */
const TEXTS: readonly (readonly [string, number])[] = [
  ["database is locked", 5],
  ["database table is locked", 6],
  ["attempt to write a readonly database", 8],
  ["disk I/O error", 10],
  ["database disk image is malformed", 11],
  ["malformed database schema", 11],
  ["database or disk is full", 13],
  ["unable to open database file", 14],
  ["file is not a database", 26],
];

/** An error of SQLite as a refusal of ours; anything else unchanged. */
export function fromSqliteError(error: unknown): unknown {
  if (!(error instanceof Error) || !("code" in error) || error.code !== "ERR_SQLITE_ERROR") {
    return error;
  }
  const code = "errcode" in error
    ? Number(error.errcode) & 0xff
    : TEXTS.find(([text]) => error.message.startsWith(text))?.[1] ?? 0;
  const cause = error;
  if (TEMPORARY.has(code)) {
    const message = `The database cannot be written now: ${messageOf(error)}`;
    return new AppError("overloaded", message, { cause });
  }
  if (!DAMAGED.has(code)) return error;
  return new AppError("internal", `The database is damaged: ${messageOf(error)}`, { cause });
}
