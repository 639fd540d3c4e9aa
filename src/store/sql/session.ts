/**
 * The interface on which the statements of this folder run: the connection of SQLite, which answers
 * at once, or a session of PostgreSQL, which has to be awaited. Where the syntax of the databases
 * differs, a statement takes its words from the {@linkcode Dialect}.
 *
 * @module
 */

import type { Row, SqlValue } from "./row.ts";

/** Words that differ between the databases. */
export interface Dialect {
  /** The column that numbers the rows of a table in the order in which they were added. */
  readonly position: "rowid" | "position";
  /** Names the index that SQLite is to use; empty for PostgreSQL, which takes no such hint. */
  indexedBy(index: string): string;
  /** The condition that this run of the daemon claimed a row; with SQLite, no other daemon can. */
  isMine(table: string): string;
  /** Ends a query whose rows stay as they are until the transaction ends; SQLite has one writer. */
  readonly forUpdate: "" | "FOR UPDATE";
  /** As `forUpdate`, but rows that another transaction has locked are passed over. */
  readonly skipLocked: "" | "FOR UPDATE SKIP LOCKED";
}

/**
 * Runs statements. Values stand as `?`, or as `?1` where one is used more than once; several texts
 * are one value, as JSON: `IN (SELECT value FROM json_each(?))`.
 */
export interface SqlSession {
  readonly dialect: Dialect;
  /** Every row of a query. */
  all(sql: string, ...values: readonly SqlValue[]): Row[] | Promise<Row[]>;
  /** The first row of a query, if there is one. */
  get(sql: string, ...values: readonly SqlValue[]): Row | undefined | Promise<Row | undefined>;
  /** Runs a statement with `RETURNING`; returns the first row that it changed, if there is one. */
  returning(
    sql: string,
    ...values: readonly SqlValue[]
  ): Row | undefined | Promise<Row | undefined>;
  /** Runs a statement; returns the number of rows that it changed. */
  run(sql: string, ...values: readonly SqlValue[]): number | Promise<number>;
  /**
   * Waits until no other transaction has any of these locks, and keeps them until this one ends. To
   * be called once, before anything is changed. SQLite has one writer, and needs no locks.
   */
  lock(...names: readonly string[]): void | Promise<void>;
  /** Takes a lock until the transaction ends; `false`, without waiting, when another has it. */
  tryLock(name: string): boolean | Promise<boolean>;
}
