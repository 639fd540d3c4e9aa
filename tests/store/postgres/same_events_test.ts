/**
 * What both daemons get at the same time, in whatever order, is stored once.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import type { Store } from "../../../src/store/store.ts";
import type { NewTask } from "../../../src/store/task_records.ts";
import { accept, idOf, taskIdOf } from "../../helpers/store_records.ts";
import { numberOf, range } from "../contract/each_store.ts";
import { type TwoDaemons, twoDaemonsTest } from "../../rigs/two_daemons.ts";

/** Stores events at one daemon: each with a number of its own, in this order. */
function send(store: Store, { events, from, task }: {
  readonly events: readonly number[];
  readonly from: number;
  readonly task: (event: number) => Partial<NewTask>;
}) {
  return Promise.all(
    events.map((event) => accept(store, from + event, { receivedAt: 5000, task: task(event) })),
  );
}

/** Stores the same events at both, in opposite orders, in rounds that get in each other's way. */
function sendToBoth(
  { a, b }: TwoDaemons,
  count: number,
  task: (event: number) => Partial<NewTask>,
) {
  const events = range(0, count);
  return Promise.all([
    send(a, { events, from: 0, task }),
    send(b, { events: events.toReversed(), from: count, task }),
  ]);
}

/** Number of deadlocks; connections tell of them at the latest when they are closed. */
async function deadlocks({ a, b, sql }: TwoDaemons): Promise<number> {
  await Promise.all([a[Symbol.asyncDispose](), b[Symbol.asyncDispose]()]);
  const row = await sql((db) =>
    db.get("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
  );
  return Number(row?.["deadlocks"]);
}

twoDaemonsTest("the same events at both start one task each", async (daemons) => {
  const { a } = daemons;
  const outcomes = await sendToBoth(daemons, 400, (event) => ({ dedupKey: `event ${event}` }));
  const all = outcomes.flat();
  equal(all.filter((one) => one?.outcome === "accepted").length, 400);
  equal(all.filter((one) => one?.outcome === "duplicate").length, 400);
  const tasks = await a.listTasks({ limit: 9999 });
  const events = tasks.map(({ id }) => numberOf(id) % 400);
  deepEqual(events.toSorted((x, y) => x - y), range(0, 400));
  equal((await a.listDeliveries({ limit: 9999 })).length, 800);
  equal(await deadlocks(daemons), 0);
});

twoDaemonsTest("the same bursts at both become one task each", async (daemons) => {
  const debounce = (event: number) => ({ debounce: { key: String(event % 20), forMs: 60_000 } });
  await sendToBoth(daemons, 200, debounce);
  equal((await daemons.a.listTasks({ limit: 9999 })).length, 20);
  equal(await deadlocks(daemons), 0);
});

twoDaemonsTest("an event that is named by its id is stored by the first", async ({ a, b }) => {
  const given = (at: number) => ({ once: true, cursor: { name: "cron default/nightly", at } });
  const outcomes = await Promise.all(
    range(0, 40).map((n) => {
      const at = Math.floor(n / 2);
      return accept(n % 2 === 0 ? a : b, at, { ...given(at), taskId: taskIdOf(n) });
    }),
  );
  const tasks = await a.listTasks({ limit: 99 });
  equal(tasks.length, 20);
  for (const at of range(0, 20)) {
    deepEqual(outcomes[2 * at], outcomes[2 * at + 1], "both are told of the same task");
    equal(tasks.find(({ deliveryId }) => deliveryId === idOf(at))?.id, outcomes[2 * at]?.taskId);
  }
});

twoDaemonsTest(
  "a group with Replace keeps one task, whoever stores the events",
  async (daemons) => {
    const replaces = (event: number): Partial<NewTask> => ({
      concurrency: { policy: "Replace", key: String(event % 10), max: 1 },
      workspaceMax: 3,
    });
    await sendToBoth(daemons, 100, replaces);
    const pending = await daemons.b.listTasks({ state: "pending", limit: 999 });
    equal(pending.length, 10);
    const cancelled = await daemons.a.listTasks({ state: "cancelled", limit: 999 });
    equal(cancelled.length, 190);
    equal(await deadlocks(daemons), 0);
  },
);

twoDaemonsTest("a rate is that of both together", async (daemons) => {
  const limited = () => ({ rateLimit: { perMinute: 30, reject: true } });
  const settled = await Promise.allSettled(
    range(0, 100).map((n) =>
      accept(n % 2 === 0 ? daemons.a : daemons.b, n, { receivedAt: 5000, task: limited() })
    ),
  );
  equal(settled.filter(({ status }) => status === "fulfilled").length, 30);
  const refused = settled.flatMap((one) => one.status === "rejected" ? [one.reason] : []);
  ok(refused.every(({ code }) => code === "rate_limited"));
  equal((await daemons.a.listDeliveries({ limit: 999 })).length, 30, "nothing of the others stays");
  equal(await deadlocks(daemons), 0);
});
