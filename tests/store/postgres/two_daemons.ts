/**
 * Two daemons over one database: their stores, and the leases that say whether they live.
 *
 * @module
 */

import { Connections, type Session } from "../../../src/store/postgres/database/connections.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { openPostgresStore } from "../../../src/store/postgres/open_store.ts";
import type { Store } from "../../../src/store/store.ts";
import { createTestDatabase, postgresTest } from "../../helpers/postgres.ts";

/** Both daemons live until the test lets one die. */
export interface TwoDaemons {
  readonly url: string;
  readonly a: Store;
  readonly b: Store;
  /** The store of daemon `a` after it was killed and started again. */
  restartA(): Promise<Store>;
  /** Lets the lease of daemon `a` run out. */
  endLeaseOfA(): Promise<void>;
  /** Runs statements in one transaction, as somebody may who has the password of the database. */
  sql<T>(work: (db: Session) => Promise<T>): Promise<T>;
}

/** Registers a test with an empty database. */
export function twoDaemonsTest(
  name: string,
  body: (daemons: TwoDaemons) => Promise<void>,
): void {
  postgresTest(name, async () => {
    await using stack = new AsyncDisposableStack();
    const { url } = stack.use(await createTestDatabase());
    const open = async (node: string, run: string) =>
      stack.use(await openPostgresStore({ url, owner: { node, run }, clock: systemClock }));
    const owner = { node: "test", run: "test" };
    const admin = stack.use(new Connections({ url, owner, max: 1 }));
    const lease = (node: string, run: string, until: string) =>
      admin.use((db) =>
        db.run(
          `INSERT INTO nodes (id, name, run, lease_until, started_at, judges_from)
           VALUES (?1, ?1, ?2, ?3::timestamptz, 0, now() - interval '1 hour')
           ON CONFLICT (id) DO UPDATE SET run = ?2, lease_until = ?3::timestamptz`,
          node,
          run,
          until,
        )
      );
    await lease("a", "a1", "infinity");
    await lease("b", "b1", "infinity");
    await body({
      url,
      a: await open("a", "a1"),
      b: await open("b", "b1"),
      async restartA() {
        await lease("a", "a2", "infinity");
        return await open("a", "a2");
      },
      endLeaseOfA: async () => void await lease("a", "a1", "-infinity"),
      sql: (work) => admin.transaction(work),
    });
  });
}
