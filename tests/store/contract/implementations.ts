/**
 * Every implementation of `Store`. The cases of this folder run for each of them, and know none.
 *
 * @module
 */

import type { Store } from "../../../src/store/store.ts";
import { postgresTest } from "../../helpers/postgres.ts";
import { openPostgres } from "../postgres/open_postgres.ts";
import { openSqlite } from "../sqlite/open_sqlite.ts";

/** A store with nothing in it, which goes away with the test. */
export interface TestedStore extends AsyncDisposable {
  /** The store, as the daemon would have it; after a restart the new one. */
  readonly store: Store;
  /** Closes the store and opens the same data again, as a daemon that is started again does. */
  restart(): Promise<Store>;
}

/** One implementation. */
export interface Implementation {
  /** Begins the names of its tests. */
  readonly name: string;
  /** Registers a test of it; as an ignored one where what it needs is missing. */
  test(name: string, fn: () => Promise<void>): void;
  /** Opens an empty store. */
  open(): Promise<TestedStore>;
}

/** The implementations: another one is a line here. */
export const IMPLEMENTATIONS: readonly Implementation[] = [
  { name: "SQLite", test: Deno.test, open: openSqlite },
  { name: "PostgreSQL", test: postgresTest, open: openPostgres },
];
