/**
 * Stores of several daemons over one database.
 *
 * @module
 */

import { Connections, type Session } from "../../../src/store/postgres/database/connections.ts";
import { openPostgresStore } from "../../../src/store/postgres/open_store.ts";
import type { Store } from "../../../src/store/store.ts";
import { createTestDatabase, postgresTest } from "../../helpers/postgres.ts";

/** What a test has. */
export interface Daemons {
  /** The stores of two nodes, "a" and "b". */
  readonly a: Store;
  readonly b: Store;
  /** Runs statements, as somebody does who has the password of the database. */
  readonly sql: <T>(work: (db: Session) => Promise<T>) => Promise<T>;
}

/** Registers a test with two daemons, which it finds with nothing stored. */
export function withTwoDaemons(name: string, body: (daemons: Daemons) => Promise<void>): void {
  postgresTest(name, async () => {
    await using database = await createTestDatabase();
    const open = (node: string) =>
      openPostgresStore({ url: database.url, owner: { node, run: `${node}1` } });
    await using a = await open("a");
    await using b = await open("b");
    await using connections = new Connections({
      url: database.url,
      owner: { node: "tests", run: "tests" },
      max: 1,
    });
    await body({ a, b, sql: (work) => connections.transaction(work) });
  });
}
