/**
 * Two daemons over one database: their stores, and the leases that say whether they live.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import { Connections, type Session } from "../../src/store/postgres/database/connections.ts";
import { systemClock } from "../../src/base/clock.ts";
import { openPostgresStore, type PostgresStore } from "../../src/store/postgres/open_store.ts";
import { createTestDatabase, postgresTest } from "../helpers/postgres.ts";

/** Two stores with live leases. */
export interface TwoDaemons {
  readonly url: string;
  readonly a: PostgresStore;
  readonly b: PostgresStore;
  /** The store of daemon `a` after it was killed and started again. */
  restartA(): Promise<PostgresStore>;
  /** Lets the lease of daemon `a` run out. */
  endLeaseOfA(): Promise<void>;
  /** Runs statements in one transaction, past the daemons. */
  sql<T>(work: (db: Session) => Promise<T>): Promise<T>;
}

/**
 * Registers a test with an empty database, over which no two transactions may end in a deadlock.
 * `defaults` are settings that the database gives each new session.
 */
export function twoDaemonsTest(
  name: string,
  body: (daemons: TwoDaemons) => Promise<void>,
  defaults: Readonly<Record<string, string>> = {},
): void {
  postgresTest(name, async () => {
    await using stack = new AsyncDisposableStack();
    const { url } = stack.use(await createTestDatabase());
    const stores = stack.use(new AsyncDisposableStack());
    const open = async (node: string, run: string) =>
      stores.use(await openPostgresStore({ url, owner: { node, run }, clock: systemClock }));
    const owner = { node: "test", run: "test" };
    const admin = stack.use(new Connections({ url, owner, max: 1 }));
    for (const [setting, value] of Object.entries(defaults)) {
      const database = new URL(url).pathname.slice(1);
      await admin.use((db) => db.exec(`ALTER DATABASE ${database} SET ${setting} = '${value}'`));
    }
    const lease = (node: string, until: string) =>
      admin.use((db) =>
        db.run(
          `UPDATE nodes SET lease_until = ?::timestamptz, judges_from = now() - interval '1 hour'
           WHERE id = ?`,
          until,
          node,
        )
      );
    const a = await open("a", "a1");
    const b = await open("b", "b1");
    for (const node of ["a", "b"]) await lease(node, "infinity");
    await body({
      url,
      a,
      b,
      async restartA() {
        await admin.use((db) => db.exec(KILL_A));
        return await open("a", "a2");
      },
      endLeaseOfA: async () => void await lease("a", "-infinity"),
      sql: (work) => admin.transaction(work),
    });
    await stores.disposeAsync(); // the counters are complete once the connections are closed
    const counted = await admin.use((db) => db.get(DEADLOCKS));
    equal(counted?.["deadlocks"], 0);
  });
}

const DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";

/**
 * Ends the session that holds the lock of node `a`, as the death of its daemon does. Other tests have a node
 * `a` in databases of theirs at this server.
 */
const KILL_A = `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND (classid::bigint << 32) | objid::bigint = hashtextextended('node/a', 0)`;
