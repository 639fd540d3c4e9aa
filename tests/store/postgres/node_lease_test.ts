/**
 * The lease of a node: what it holds off, and what its daemon hears of it.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import { type Clock, clockOf, systemClock } from "../../../src/base/clock.ts";
import { Connections, type Session } from "../../../src/store/postgres/database/connections.ts";
import { type NodeListener, openPostgresStore } from "../../../src/store/postgres/open_store.ts";
import type { Store } from "../../../src/store/store.ts";
import { createTestDatabase, postgresTest } from "../../helpers/postgres.ts";
import { accept, taskIdOf } from "../../helpers/store_records.ts";
import { until } from "../../helpers/until.ts";
import { numberOf, range } from "../contract/each_store.ts";

/** The shortest that there is. */
const LEASE_MS = 10_000;

/** How much faster time passes for a daemon than for its database. */
const SPEED = 4;
const fast: Clock = clockOf({
  now: systemClock.now,
  monotonicMs: () => systemClock.monotonicMs() * SPEED,
  after: (ms, then) => systemClock.after(ms / SPEED, then),
});

interface Rig {
  /** Opens the store of a daemon, which closes with the test. */
  open(
    node: string,
    how?: { readonly name?: string; readonly listener?: NodeListener; readonly clock?: Clock },
  ): Promise<Store>;
  sql<T>(work: (db: Session) => Promise<T>): Promise<T>;
}

function testNodes(name: string, body: (rig: Rig) => Promise<void>): void {
  postgresTest(name, async () => {
    await using stack = new AsyncDisposableStack();
    const { url } = stack.use(await createTestDatabase());
    const owner = { node: "test", run: "test" };
    const admin = stack.use(new Connections({ url, owner, max: 1 }));
    let run = 0;
    await body({
      open: async (node, how = {}) => {
        const given = { url, leaseMs: LEASE_MS, clock: fast, ...how };
        return stack.use(
          await openPostgresStore({ ...given, owner: { node, run: String(++run) } }),
        );
      },
      sql: (work) => admin.transaction(work),
    });
  });
}

const claimed = async (store: Store) => {
  const { tasks, interrupted = [] } = await store.claimTasks(9, 5);
  return [...tasks, ...interrupted].map(({ task }) => numberOf(task.id));
};

testNodes("a lease is renewed for as long as its daemon lives", async ({ open, sql }) => {
  const left = async () =>
    Number(
      (await sql((db) =>
        db.get("SELECT extract(epoch FROM lease_until - now())::float8 AS secs FROM nodes")
      ))?.["secs"],
    );
  await open("a");
  const since = await left();
  equal(since > 9 && since <= 10, true, "from the start");
  await sql((db) => db.run("UPDATE nodes SET lease_until = now() + interval '2 seconds'"));
  await until("a renewal", async () => await left() > 9 || undefined);
});

testNodes(
  "a daemon hears that its lease is lost in time, and that it has it again",
  async (rig) => {
    const heard: string[] = [];
    await rig.open("a", {
      listener: { onLost: () => heard.push("lost"), onRegained: () => heard.push("regained") },
    });
    await rig.sql((db) => db.exec("ALTER TABLE nodes RENAME TO nodes_away"));
    await until("the loss", () => heard[0]);
    const row = await rig.sql((db) =>
      db.get("SELECT (lease_until > now())::int AS is_left FROM nodes_away")
    );
    equal(row?.["is_left"], 1, "while nobody may take over yet");
    await rig.sql((db) => db.exec("ALTER TABLE nodes_away RENAME TO nodes"));
    await until("the return", () => heard[1]);
    deepEqual(heard, ["lost", "regained"]);
  },
);

testNodes("a lease outlives the end of its connection", async ({ open, sql }) => {
  const heard: string[] = [];
  await open("a", { listener: { onLost: () => heard.push("lost") } });
  const judgesFrom = async () =>
    (await sql((db) => db.get("SELECT judges_from::text AS at FROM nodes")))?.["at"];
  const before = await judgesFrom();
  await sql((db) =>
    db.exec(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    )
  );
  await until("a renewal", async () => await judgesFrom() !== before || undefined);
  deepEqual(heard, []);
});

testNodes("a daemon that ends in order leaves no lease to wait for", async ({ open, sql }) => {
  await (await open("a"))[Symbol.asyncDispose]();
  const row = await sql((db) => db.get("SELECT (lease_until <= now())::int AS is_over FROM nodes"));
  equal(row?.["is_over"], 1);
});

testNodes("no two daemons are the same node, and none has the name of another", async (rig) => {
  await rig.open("a", { name: "one", clock: systemClock }); // it keeps its connection, however busy
  await rejects(rig.open("a", { name: "one" }), {
    code: "refused",
    message: /runs as node one, .*svc init/,
  });
  await rejects(rig.open("b", { name: "one" }), { code: "refused", message: /named "one"/ });
  await rig.open("b", { name: "two" });
});

testNodes("a daemon that has just come takes nothing of others", async ({ open, sql }) => {
  const a = await open("a");
  for (const n of range(0, 2)) await accept(a, n);
  equal((await a.claimTasks(9, 5)).tasks.length, 2);
  await a[Symbol.asyncDispose]();
  const b = await open("b", { clock: systemClock });
  const end = "UPDATE nodes SET lease_until = now() WHERE id = 'a'";
  await sql((db) => db.exec(`${end}; UPDATE svc_jobs.job SET heartbeat_on = 'epoch'`));
  const later = () => sql((db) => db.get("SELECT FROM svc_jobs.job WHERE state = 'retry'"));
  await until("the engine's look", later);
  deepEqual(await claimed(b), []);
  await sql((db) =>
    db.exec("UPDATE nodes SET judges_from = now(); UPDATE svc_jobs.job SET heartbeat_on = 'epoch'")
  );
  await until("the engine's next look", later);
  deepEqual(await claimed(b), [0, 1]);
});

testNodes("a claim whose answer was lost is given back", async ({ open, sql }) => {
  const inHand = new Set([taskIdOf(1)]);
  const a = await open("a", { listener: { inHand: () => inHand } });
  for (const n of [1, 2]) await accept(a, n);
  equal((await a.claimTasks(1, 5)).tasks.length, 1);
  await sql((db) =>
    db.exec(
      `UPDATE tasks SET state = 'running', node = 'a', run = '1', epoch = 1 WHERE state = 'pending';
       UPDATE svc_jobs.job SET state = 'active', started_on = now(), heartbeat_on = now()`,
    )
  );
  const given = await until("the task", async () => (await claimed(a))[0]);
  equal(given, 2, "and not the one that is run");
  inHand.add(taskIdOf(2));
  equal(await a.finishTask({ taskId: taskIdOf(2), state: "failed", reason: "", now: 9 }), true);
});

testNodes("a task that its daemon has dropped is given back", async ({ open }) => {
  const inHand = new Set<string>();
  const a = await open("a", { listener: { inHand: () => inHand } });
  for (const n of [1, 2]) await accept(a, n);
  equal((await a.claimTasks(1, 5)).tasks.length, 1);
  equal(await until("the other one", async () => (await claimed(a))[0]), 2);
  inHand.add(taskIdOf(2));
  const dropped = Date.now();
  const since = await until("the task again", async () => (await a.counts()).oldestPendingAt);
  ok(since >= dropped, `it is pending since it was given back, and not ${dropped - since} ms more`);
  equal(await until("the task again", async () => (await claimed(a))[0]), 1);
  equal(await a.finishTask({ taskId: taskIdOf(1), state: "failed", reason: "", now: 9 }), true);
});

testNodes("a daemon hears which of its tasks are to be stopped", async ({ open }) => {
  const told = Promise.withResolvers<readonly { readonly id: string; readonly reason: string }[]>();
  const a = await open("a", { listener: { onCancelled: told.resolve } });
  const b = await open("b");
  await accept(a, 1);
  await a.claimTasks(1, 5);
  equal(await b.cancelTask(taskIdOf(1), { reason: "by hand", now: 7 }), "stopping");
  deepEqual(await told.promise, [{ id: taskIdOf(1), reason: "by hand" }]);
});

testNodes("a daemon hears how far the database's clock is from its own", async ({ open }) => {
  const heard: number[] = [];
  const slow = clockOf({
    now: () => systemClock.now() - 5000,
    monotonicMs: fast.monotonicMs,
    after: (ms, then) => fast.after(ms, then),
  });
  await open("a", { clock: slow, listener: { onClock: (aheadMs) => heard.push(aheadMs) } });
  const aheadMs = await until("a renewal", () => heard[0]);
  equal(Math.round(aheadMs / 1000), 5);
});
