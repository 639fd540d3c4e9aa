/**
 * The door to SQLite, the only importer of `node:sqlite`: one connection, its settings, its
 * prepared statements, and its errors as errors of the program.
 *
 * @module
 */

import { backup, DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { AppError, messageOf } from "../../../base/errors.ts";
import type { Row, SqlValue } from "../../sql/row.ts";
import type { Dialect, SqlSession } from "../../sql/session.ts";

/**
 * Settings of the one connection that writes. Every commit is synced, so that an acknowledged
 * delivery survives a power cut. The first two settings work only on a new file, and have to come
 * first.
 *
 * `page_size`: a delivery of 2 KiB with its tasks fills a page of 4 KiB and wastes a quarter of it;
 * with 8 KiB the file is smaller by that, and a commit is a tenth faster. `auto_vacuum`: unused
 * pages can be given back step by step.
 *
 * `temp_store`: the undo log of a statement stays in memory. The end of a task changes more pages
 * than SQLite keeps there by default, and a file below /var/tmp for each would cost a write to the
 * disk's journal and leave the data directory.
 */
const WRITER_SETTINGS =
  "PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; " +
  "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; " +
  "PRAGMA temp_store = MEMORY; " +
  // shrinks a log again that has grown because of a long reader
  "PRAGMA journal_size_limit = 67108864;";

/** Options of a connection to a database file. */
export interface DatabaseOptions {
  readonly readOnly?: boolean;
  /** Settings of a connection that writes; by default those of the daemon. */
  readonly settings?: string;
  /** The node for which the connection claims; empty for a connection that claims nothing. */
  readonly node?: string;
}

/**
 * What the calls of one transaction share. Made when the first of them asks for it, and forgotten
 * when the transaction ends.
 */
export interface SharedValue<Value> {
  readonly make: () => Value;
  /** Writes what was collected, before the commit. */
  readonly finish: (db: Database, value: Value) => void;
}

/** Options of a copy. */
export interface CopyOptions {
  /** Pages per step. */
  readonly rate: number;
  /** Called after each step; throwing ends the copying. */
  readonly onProgress: (progress: { totalPages: number; remainingPages: number }) => void;
}

const DIALECT: Dialect = {
  position: "rowid",
  indexedBy: (index) => `INDEXED BY ${index}`,
  isMine: () => "TRUE",
  forUpdate: "",
  skipLocked: "",
};

/** What Deno's types of `node:sqlite` lack. */
type WithArrays = StatementSync & { setReturnArrays(on: boolean): void };

/** One connection. Statements are prepared once and kept (2.8M/s against 0.16M/s). */
export class Database implements SqlSession, Disposable {
  readonly dialect = DIALECT;
  /** The node for which it claims. */
  readonly node: string;
  readonly #db: DatabaseSync;
  #changes = 0;
  readonly #statements = new Map<string, StatementSync>();
  readonly #shared = new Map<SharedValue<unknown>, unknown>();
  #emptiesLog = false;

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

  /** Runs statements that return no rows and take no values. */
  exec(sql: string): void {
    this.#db.exec(sql);
  }

  /** Runs one statement; returns the number of rows it changed. */
  run(sql: string, ...values: SqlValue[]): number {
    const changes = Number(this.#prepare(sql).run(...values as SQLInputValue[]).changes);
    this.#changes += changes;
    return changes;
  }

  /**
   * Runs one statement with `RETURNING`; returns the first row that it changed, if there is one.
   */
  returning(sql: string, ...values: SqlValue[]): Row | undefined {
    const rows = this.all(sql, ...values);
    this.#changes += rows.length;
    return rows[0];
  }

  /** The first row of a query, if there is one. */
  get(sql: string, ...values: SqlValue[]): Row | undefined {
    return this.#prepare(sql).get(...values as SQLInputValue[]) as Row | undefined;
  }

  /** Every row of a query. */
  all(sql: string, ...values: SqlValue[]): Row[] {
    return this.#prepare(sql).all(...values as SQLInputValue[]) as Row[];
  }

  /**
   * Every row of a query, one after the other: in one object, which holds the values of the next row
   * then. To make an object for each costs more than to read the row.
   */
  *each(sql: string, ...values: SqlValue[]): Generator<Row, void, undefined> {
    const statement = this.#db.prepare(sql);
    const names = statement.columns().map(({ name }) => name);
    (statement as WithArrays).setReturnArrays(true);
    const row: Row = {};
    const rows = statement.iterate(...values as SQLInputValue[]) as Iterable<unknown>;
    for (const found of rows as Iterable<readonly SqlValue[]>) {
      for (let at = 0; at < names.length; at++) row[names[at]!] = found[at]!;
      yield row;
    }
  }

  /** Number of rows that {@linkcode run} has changed. */
  get changes(): number {
    return this.#changes;
  }

  /** Does nothing: while a transaction is open, no other one writes. */
  lock(): void {}

  /** Takes nothing: while a transaction is open, no other one writes. */
  tryLock(): boolean {
    return true;
  }

  /**
   * Runs `work` in one write transaction, which is synced before this resolves, and undone when
   * `work` throws. No other work may use the connection meanwhile.
   */
  async transaction<T>(work: () => Promise<T>): Promise<T> {
    this.run("BEGIN IMMEDIATE");
    try {
      const result = await work();
      this.#commit();
      return result;
    } catch (error) {
      this.rollback();
      throw error;
    } finally {
      this.#shared.clear();
    }
  }

  /** The same for work that awaits nothing. */
  transactionSync<T>(work: () => T): T {
    this.run("BEGIN IMMEDIATE");
    try {
      const result = work();
      this.#commit();
      return result;
    } catch (error) {
      this.rollback();
      throw error;
    } finally {
      this.#shared.clear();
    }
  }

  #commit(): void {
    for (const [shared, value] of this.#shared) shared.finish(this, value);
    this.run("COMMIT");
  }

  /** The value that the calls of the open transaction share; `undefined` where none is open. */
  shared<Value>(shared: SharedValue<Value>): Value | undefined {
    if (!this.#db.isTransaction) return undefined;
    const known = this.#shared.get(shared as SharedValue<unknown>);
    if (known !== undefined) return known as Value;
    const made = shared.make();
    this.#shared.set(shared as SharedValue<unknown>, made);
    return made;
  }

  /** Undoes the open transaction, unless SQLite has done so itself after an error (disk full). */
  rollback(): void {
    if (this.#db.isTransaction) this.run("ROLLBACK");
  }

  /** Copies every page into another file, as this connection sees them. */
  async copyTo(path: string, { rate, onProgress }: CopyOptions): Promise<void> {
    await backup(this.#db, path, { rate, progress: onProgress });
  }

  /**
   * Folds the write-ahead log into the file, so that the file is complete by itself; `false` while
   * another connection keeps it from that. Closing does the same, and reports no failure.
   */
  foldLog(): boolean {
    return this.get("PRAGMA wal_checkpoint(TRUNCATE)")?.["busy"] === 0;
  }

  /**
   * Has the log emptied once the open transaction is committed: what the transaction deletes is
   * zeroed in the file, but stays in older pages of the log.
   */
  emptyLogSoon(): void {
    this.#emptiesLog = true;
  }

  /**
   * Empties the log if that was asked for; `false` while another connection reads from it, so that
   * it has to be tried again. To be called outside of a transaction.
   */
  emptyLogIfAsked(): boolean {
    if (!this.#emptiesLog) return true;
    try {
      this.#emptiesLog = !this.foldLog();
    } catch {
      // a fault of the disk, which the next write reports
    }
    return !this.#emptiesLog;
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
 * The options to read a database that no other process uses, so that the file stays as it is and no
 * other file stays beside it. Even a connection that only reads makes a log. A connection that may
 * write removes it again, as SQLite does it, so no file of another program is removed. It also
 * undoes a transaction that was cut off. A log that is there already is left to the next daemon.
 */
export function toRead(path: string): DatabaseOptions {
  return !isThere(path) || isThere(`${path}-wal`) ? { readOnly: true } : { settings: "" };
}

/** Whether something has this name. */
export function isThere(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

/**
 * SQLite's primary result codes that are no fault of the call: the database could do no other call
 * either. Internal, no access, aborted, busy, locked, no memory, read-only, interrupted, I/O,
 * malformed, full, cannot open, locking protocol, schema changed, too large for the system, not a
 * database.
 */
const FAULTS = new Set([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 17, 22, 26]);
/**
 * The codes with which SQLite says that bytes are not what they should be. They also come from a
 * read that the disk has failed, and of a page that most calls do not need.
 */
const MALFORMED = new Set([11, 26]);

/** Deno's errors of `exec` and of opening carry no code, only the fixed text of SQLite for it. */
const TEXTS: readonly (readonly [string, number])[] = [
  ["access permission denied", 3],
  ["query aborted", 4],
  ["database is locked", 5],
  ["database table is locked", 6],
  ["out of memory", 7],
  ["attempt to write a readonly database", 8],
  ["interrupted", 9],
  ["disk I/O error", 10],
  ["database disk image is malformed", 11],
  ["malformed database schema", 11],
  ["database or disk is full", 13],
  ["unable to open database file", 14],
  ["locking protocol", 15],
  ["database schema has changed", 17],
  ["large file support is disabled", 22],
  ["file is not a database", 26],
];

/** The primary result code of an error of SQLite; `undefined` for any other error. */
function findCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("code" in error) || error.code !== "ERR_SQLITE_ERROR") {
    return undefined;
  }
  return "errcode" in error
    ? Number(error.errcode) & 0xff
    : TEXTS.find(([text]) => error.message.startsWith(text))?.[1] ?? 0;
}

/** Whether SQLite has read bytes that are not what they should be. */
export function isMalformed(error: unknown): boolean {
  return MALFORMED.has(findCode(error) ?? 0);
}

/**
 * Converts a fault of the database to an {@linkcode AppError} `overloaded`; returns any other error
 * unchanged.
 */
export function fromSqliteError(error: unknown): unknown {
  if (!FAULTS.has(findCode(error) ?? 0)) return error;
  const why = messageOf(error);
  const message = isMalformed(error)
    ? `The database cannot be read now: ${why} (if it persists, "svc db check" shows what is wrong)`
    : `The database cannot be written now: ${why}`;
  return new AppError("overloaded", message, { cause: error });
}
