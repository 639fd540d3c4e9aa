/**
 * A connection that breaks after the database has committed, and before it could say so: whoever
 * repeats its call gets what was stored, and nothing is stored twice.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import { systemClock } from "../../../src/base/clock.ts";
import { openPostgresStore } from "../../../src/store/postgres/open_store.ts";
import type { Batch } from "../../../src/store/maintenance.ts";
import type { Store } from "../../../src/store/store.ts";
import { accept, idOf, taskIdOf } from "../../helpers/store_records.ts";
import { createTestDatabase, postgresTest } from "../../helpers/postgres.ts";

/** Stands between a store and its database. */
interface Proxy extends Disposable {
  readonly url: string;
  /** Breaks the next connection over which a batch is committed, before the answer is passed on. */
  loseNextCommit(): void;
}

/** A proxy to a server that listens on a socket. */
function startProxy(database: string): Proxy {
  const target = new URL(database);
  const path = `${target.searchParams.get("host")}/.s.PGSQL.${target.port || 5432}`;
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.Conn>();
  let isArmed = false;

  async function serve(client: Deno.Conn): Promise<void> {
    using server = await Deno.connect({ transport: "unix", path });
    open.add(client).add(server);
    let isBatch = false;
    const cut = () => [client, server].forEach((end) => open.delete(end) && close(end));
    const toServer = pass(client, server, (text) => {
      isBatch ||= text.includes("SELECT write(");
      return true;
    });
    const toClient = pass(server, client, (text) => {
      const isLost = isArmed && isBatch && text.includes("COMMIT\0");
      if (isLost) isArmed = false;
      return !isLost;
    });
    try {
      await Promise.race([toServer, toClient]);
    } finally {
      cut();
    }
  }

  (async () => {
    for await (const client of listener) serve(client).catch(() => {});
  })().catch(() => {}); // it was closed
  const { port } = listener.addr as Deno.NetAddr;
  return {
    url: `postgres://${target.username}@127.0.0.1:${port}${target.pathname}`,
    loseNextCommit: () => isArmed = true,
    [Symbol.dispose]() {
      listener.close();
      for (const end of open) close(end);
    },
  };
}

/** Closes an end, which its stream has done already where the other side was first. */
function close(end: Deno.Conn): void {
  try {
    end.close();
  } catch (error) {
    if (!(error instanceof Deno.errors.BadResource)) throw error;
  }
}

/** Passes bytes on until an end closes, or `mayPass` says no. */
async function pass(
  from: Deno.Conn,
  to: Deno.Conn,
  mayPass: (text: string) => boolean,
): Promise<void> {
  const decoder = new TextDecoder("latin1");
  for await (const bytes of from.readable.values({ preventCancel: true })) {
    if (!mayPass(decoder.decode(bytes))) return;
    for (let sent = 0; sent < bytes.length;) sent += await to.write(bytes.subarray(sent));
  }
}

function lostAnswerTest(
  name: string,
  body: (store: Store, proxy: Proxy, batches: readonly Batch[]) => Promise<void>,
): void {
  postgresTest(name, async () => {
    await using database = await createTestDatabase();
    using proxy = startProxy(database.url);
    const owner = { node: "a", run: "a1" };
    const batches: Batch[] = [];
    await using store = await openPostgresStore({
      url: proxy.url,
      owner,
      clock: systemClock,
      onBatch: (batch) => batches.push(batch),
    });
    await body(store, proxy, batches);
  });
}

const LOST = { code: "overloaded" };

lostAnswerTest(
  "an event that names itself is answered with what was stored",
  async (store, proxy) => {
    proxy.loseNextCommit();
    await rejects(accept(store, 1, { once: true }), LOST);
    const again = await accept(store, 1, { once: true, taskId: taskIdOf(2) });
    deepEqual(again, { outcome: "accepted", reason: "", taskId: taskIdOf(1) });
    equal((await store.listTasks({ limit: 9 })).length, 1);
  },
);

lostAnswerTest("a request that is sent again is a duplicate of the first", async (store, proxy) => {
  const given = { receivedAt: 5000, task: { dedupKey: "push 1" } };
  proxy.loseNextCommit();
  await rejects(accept(store, 1, given), LOST);
  const again = await accept(store, 2, given);
  deepEqual([again?.outcome, again?.duplicateOf], ["duplicate", idOf(1)]);
  equal((await store.listTasks({ limit: 9 })).length, 1);
});

lostAnswerTest("a task that ended stays ended when its end is told again", async (store, proxy) => {
  await accept(store, 1);
  await store.claimTasks(1, 5);
  const end = { taskId: taskIdOf(1), state: "succeeded", reason: "", now: 9 } as const;
  proxy.loseNextCommit();
  await rejects(store.finishTask(end), LOST);
  equal(await store.finishTask({ ...end, state: "failed" }), false, "it has ended already");
  equal((await store.findTasks(taskIdOf(1)))[0]?.state, "succeeded");
});

lostAnswerTest(
  "each batch tells whether the database was written",
  async (store, proxy, batches) => {
    await accept(store, 1);
    await store.requeueTask(taskIdOf(1)); // it does not run: nothing changes
    proxy.loseNextCommit();
    await rejects(accept(store, 2), LOST);
    await accept(store, 3);
    deepEqual(
      batches.map(({ calls, wrote, refused }) => [calls, wrote, refused !== undefined]),
      [[1, true, false], [1, false, false], [1, false, true], [1, true, false]],
    );
  },
);
