/**
 * The door to SQLite, the only importer of `node:sqlite`: one connection, its settings, its
 * prepared statements, and errors in the program's own words.
 *
 * @module
 */

import { backup, DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { AppError, messageOf } from "../../../base/errors.ts";

/** A value of a column. Times are integers in milliseconds, flags 0 or 1, bodies blobs. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/** A row by column name. */
export type Row = Record<string, SqlValue>;

/**
 * Of the one connection that writes; every commit is synced, so that what was acknowledged outlives
 * a power cut. The first two take effect in a new file only, and have to come first. A delivery of
 * 2 KiB and what belongs to it fills a page of 4 KiB and wastes a quarter of it: of 8 KiB, a file
 * is smaller by that, and a commit takes a tenth less. With the second, unused pages can be given
 * back step by step. What undoes one statement of a batch stays in memory: the end of a task
 * changes more pages than SQLite keeps there by itself, and a file below /var/tmp for each is a
 * write to the journal of the disk, and leaves the data directory.
 */
const WRITER_SETTINGS =
  "PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; " +
  "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; " +
  "PRAGMA temp_store = MEMORY; " +
  "PRAGMA journal_size_limit = 67108864;"; // a log that has grown behind a long reader shrinks again

/** How to open a file. */
export interface DatabaseOptions {
  /** Opens it for reading only. */
  readonly readOnly?: boolean;
  /** Settings of a connection that writes, for those of the daemon's. */
  readonly settings?: string;
  /** The node in whose name it claims; empty for a connection that claims nothing. */
  readonly node?: string;
}

/** How to copy a database. */
export interface CopyOptions {
  /** Pages at once. */
  readonly rate: number;
  /** Told after each step; what it throws ends the copying. */
  readonly onProgress: (progress: { totalPages: number; remainingPages: number }) => void;
}

/** One connection. Statements are prepared once and kept (2.8M/s against 0.16M/s). */
export class Database implements Disposable {
  /** The node in whose name it claims. */
  readonly node: string;
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  /** Opens the file at `path`; a read-only connection may leave an empty log beside it. */
  constructor(path: string, options: DatabaseOptions = {}) {
    this.node = options.node ?? "";
    this.#db = new DatabaseSync(path, { readOnly: options.readOnly === true });
    try {
      this.#db.exec("PRAGMA busy_timeout = 5000; PRAGMA trusted_schema = OFF;");
      if (options.readOnly !== true) this.#db.exec(options.settings ?? WRITER_SETTINGS);
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

  /** How many rows were changed since it was opened. */
  changes(): number {
    return Number(this.get("SELECT total_changes() AS n")?.["n"] ?? 0);
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

  /** Copies every page into another file, all of it as this connection sees it. */
  async copyTo(path: string, { rate, onProgress }: CopyOptions): Promise<void> {
    await backup(this.#db, path, { rate, progress: onProgress });
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

/**
 * Primary result codes of SQLite that mean "not now": busy, locked, read-only, I/O, full, cannot
 * open.
 */
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
