/**
 * Tasks that wait for a time (contract 2, `debounce` and `rateLimit`): one task for a burst, no more
 * starts than a minute allows, and no harm from clocks that are set.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import { AppError } from "../../src/base/errors.ts";
import { openStore } from "../../src/store/sqlite/open_store.ts";
import type { Store } from "../../src/store/store.ts";
import type { NewTask } from "../../src/store/task_records.ts";
import {
  accept,
  acceptBatch,
  type Accepted,
  idOf,
  rowsOf,
  taskIdOf,
  type TempStore,
  tempStore,
} from "./temp_store.ts";

function test(name: string, body: (store: Store, temp: TempStore) => Promise<void>): void {
  Deno.test(name, async () => {
    await using temp = await tempStore();
    await body(temp.store, temp);
  });
}

const T0 = Date.parse("2026-01-02T03:04:05.000Z");
const SEC = 1000;
const HOUR = 3_600_000;
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
const numberOf = (id: string) => Number(id.slice(-6));
const finish = (store: Store, n: number) =>
  store.finishTask({ taskId: taskIdOf(n), state: "succeeded", reason: "", now: T0 });

async function claimAt(store: Store, now: number, limit = 999) {
  const { tasks, nextAt } = await store.claimTasks(limit, now);
  return { tasks: tasks.map(({ task }) => numberOf(task.id)), nextAt };
}

/** Stores delivery `n` of a trigger that debounces. */
function debounced(
  store: Store,
  n: number,
  at: number,
  { secs = 10, key = "", ...task }: { secs?: number; key?: string } & Partial<NewTask> = {},
) {
  const given: Accepted = {
    receivedAt: at,
    task: { debounce: { key, forMs: secs * SEC }, ...task },
  };
  return accept(store, n, given);
}

test("debounce: several deliveries become one task, with the payload of the latest", async (store) => {
  const outcomes = [
    await debounced(store, 1, T0),
    await debounced(store, 2, T0 + 4 * SEC),
    await debounced(store, 3, T0 + 9 * SEC),
  ];
  deepEqual(outcomes.map((one) => [one?.outcome, one?.taskId]), [
    ...range(0, 3).map(() => ["accepted", taskIdOf(1)]),
  ]);
  deepEqual(await claimAt(store, T0 + 9 * SEC), { tasks: [], nextAt: T0 + 10 * SEC });
  const { tasks, nextAt } = await store.claimTasks(9, T0 + 10 * SEC);
  equal(nextAt, undefined);
  deepEqual(tasks.map(({ task }) => [task.id, task.deliveryId]), [[taskIdOf(1), idOf(3)]]);
  equal(new TextDecoder().decode(tasks[0]?.payload), '{"n":3}');
  deepEqual(tasks[0]?.headers, { "x-n": "3" });
  equal((await store.listTasks({ limit: 9 })).length, 1);
  deepEqual((await store.listDeliveries({ limit: 9 })).map(({ taskId }) => taskId), [
    ...range(0, 3).map(() => taskIdOf(1)),
  ]);
});

test("debounce: once the task has been handed over, the next delivery starts another", async (store) => {
  await debounced(store, 1, T0);
  await claimAt(store, T0 + 10 * SEC);
  equal((await debounced(store, 2, T0 + 11 * SEC))?.taskId, taskIdOf(2));
  await store.requeueTask(taskIdOf(1));
  equal((await debounced(store, 3, T0 + 12 * SEC))?.taskId, taskIdOf(2), "1 has begun");
  deepEqual(await claimAt(store, T0 + 20 * SEC), { tasks: [1], nextAt: T0 + 21 * SEC });
  deepEqual(await claimAt(store, T0 + 21 * SEC), { tasks: [2], nextAt: undefined });
});

test("debounce: keys, triggers and projects are apart", async (store) => {
  await debounced(store, 1, T0, { key: "a" });
  await debounced(store, 2, T0, { key: "b" });
  await debounced(store, 3, T0, { key: "a", trigger: "other" });
  await debounced(store, 4, T0, { key: "a", project: "other" });
  equal((await debounced(store, 5, T0, { key: "a" }))?.taskId, taskIdOf(1));
  deepEqual((await claimAt(store, T0 + 10 * SEC)).tasks.toSorted(), [1, 2, 3, 4]);
});

test("debounce: 100 deliveries at once are one task", async (store) => {
  const outcomes = await Promise.all(range(0, 100).map((n) => debounced(store, n, T0 + n)));
  deepEqual(new Set(outcomes.map((one) => one?.taskId)), new Set([taskIdOf(0)]));
  const { tasks: [claimed] } = await store.claimTasks(9, T0 + HOUR);
  equal(claimed?.task.deliveryId, idOf(99));
});

test("debounce: a repetition of a joined delivery is a duplicate of that task", async (store) => {
  await debounced(store, 1, T0, { dedupKey: "one" });
  await debounced(store, 2, T0, { dedupKey: "two" });
  deepEqual(await debounced(store, 3, T0, { dedupKey: "two" }), {
    outcome: "duplicate",
    reason: `seen before, in delivery ${idOf(2)}`,
    taskId: taskIdOf(1),
    duplicateOf: idOf(2),
  });
});

test(
  "debounce: the latest payload brings its plan, group and workspace along",
  async (store, { path }) => {
    const queue = (key: string) => ({ concurrency: { policy: "Queue", key, max: 1 } } as const);
    await accept(store, 1, { receivedAt: T0, task: { ...queue("busy"), trigger: "push" } });
    await debounced(store, 2, T0, { ...queue("free"), workspaceMax: 1 });
    const plan = { hash: "newer", json: '{"steps":[{"id":"other"}]}' };
    await debounced(store, 3, T0, { ...queue("busy"), plan, workspace: "w2" });
    deepEqual((await claimAt(store, T0 + HOUR)).tasks, [1], "2 waits for its new group");
    const [task] = await store.findTasks(taskIdOf(2));
    deepEqual([task?.workspace, task?.steps.map(({ id }) => id)], ["w2", ["other"]]);
    await debounced(store, 4, T0, { ...queue("free") });
    deepEqual((await claimAt(store, T0 + HOUR)).tasks, [2], "and back: it had waited long enough");
    equal(rowsOf(path, "SELECT * FROM plans").length, 1, "what no task has any more is gone");
  },
);

test("debounce and Forbid: joined while it waits, skipped while it runs", async (store) => {
  const forbid = { concurrency: { policy: "Forbid", key: "", max: 1 } } as const;
  equal((await debounced(store, 1, T0, forbid))?.taskId, taskIdOf(1));
  equal((await debounced(store, 2, T0, forbid))?.taskId, taskIdOf(1));
  await claimAt(store, T0 + 10 * SEC);
  equal((await debounced(store, 3, T0, forbid))?.outcome, "skipped");
});

test("debounce and Replace: the running one goes once, for a task that is joined", async (store) => {
  const replace = { concurrency: { policy: "Replace", key: "", max: 1 } } as const;
  await debounced(store, 1, T0, replace);
  await claimAt(store, T0 + 10 * SEC);
  deepEqual((await debounced(store, 2, T0 + 11 * SEC, replace))?.replaces, [taskIdOf(1)]);
  const joined = await debounced(store, 3, T0 + 12 * SEC, replace);
  deepEqual([joined?.taskId, joined?.replaces], [taskIdOf(2), undefined]);
  await store.finishTask({ taskId: taskIdOf(1), state: "cancelled", reason: "", now: T0 });
  deepEqual(await claimAt(store, T0 + 21 * SEC), { tasks: [2], nextAt: undefined });
});

const limited = (perMinute: number, reject = false): { task: Partial<NewTask> } => ({
  task: { rateLimit: { perMinute, reject } },
});

test("rateLimit: a minute's worth at once, the others one after the other", async (store) => {
  for (const n of range(0, 10)) await accept(store, n, { ...limited(6), receivedAt: T0 });
  deepEqual(await claimAt(store, T0), { tasks: range(0, 6), nextAt: T0 + 10 * SEC });
  deepEqual(await claimAt(store, T0 + 10 * SEC - 1), { tasks: [], nextAt: T0 + 10 * SEC });
  deepEqual(await claimAt(store, T0 + 10 * SEC), { tasks: [6], nextAt: T0 + 20 * SEC });
  deepEqual(await claimAt(store, T0 + 35 * SEC), { tasks: [7, 8], nextAt: T0 + 40 * SEC });
  await accept(store, 10, { ...limited(6), receivedAt: T0 + 36 * SEC });
  deepEqual(await claimAt(store, T0 + 40 * SEC), { tasks: [9], nextAt: T0 + 50 * SEC });
  deepEqual(await claimAt(store, T0 + 50 * SEC), { tasks: [10], nextAt: undefined });
  for (const n of range(20, 30)) {
    await accept(store, n, { ...limited(6), receivedAt: T0 + 200 * SEC });
  }
  equal((await claimAt(store, T0 + 200 * SEC)).tasks.length, 6, "after a rest, all of it again");
});

test("rateLimit: triggers have rates of their own", async (store) => {
  await Promise.all(
    range(0, 4).map((n) => accept(store, n, { ...limited(1), trigger: `t${n}`, receivedAt: T0 })),
  );
  equal((await claimAt(store, T0)).tasks.length, 4);
});

test("rateLimit with reject: what is beyond is refused and leaves nothing", async (store) => {
  const results = await Promise.allSettled(
    range(0, 50).map((n) => accept(store, n, { ...limited(30, true), receivedAt: T0 })),
  );
  deepEqual(results.map(({ status }) => status), [
    ...range(0, 30).map(() => "fulfilled"),
    ...range(30, 50).map(() => "rejected"),
  ]);
  await rejects(
    accept(store, 60, { ...limited(30, true), receivedAt: T0 + 500 }),
    (error) =>
      error instanceof AppError && error.code === "rate_limited" &&
      error.retryAfterSecs === 2,
  );
  equal((await store.listTasks({ limit: 999 })).length, 30);
  equal((await store.listDeliveries({ limit: 999 })).length, 30);
  await accept(store, 61, { ...limited(30, true), receivedAt: T0 + 2 * SEC });
  equal((await claimAt(store, T0 + 2 * SEC)).tasks.length, 31);
});

test("rateLimit with reject: a batch starts as a whole or not at all", async (store) => {
  const batch = (n: number, tasks: readonly number[], at = T0) =>
    acceptBatch(store, n, { ...limited(3, true), receivedAt: at, tasks });
  await batch(1, [1, 2]);
  await rejects(batch(2, [3, 4]), { code: "rate_limited" });
  deepEqual((await store.listTasks({ limit: 9 })).map(({ id }) => numberOf(id)), [2, 1]);
  await batch(3, [5]);
  deepEqual((await claimAt(store, T0)).tasks, [1, 2, 5], "the refused one used nothing up");
  await rejects(batch(4, [6], T0 + SEC), { code: "rate_limited" });
  await batch(5, [7, 8], T0 + 40 * SEC);
});

test("rateLimit: what is a duplicate, skipped or joined uses nothing up", async (store) => {
  const rate = { rateLimit: { perMinute: 1, reject: true } };
  const forbid = { concurrency: { policy: "Forbid", key: "", max: 1 } } as const;
  const push = (n: number, task: Partial<NewTask>, trigger: string) =>
    accept(store, n, { receivedAt: T0, trigger, task: { ...rate, ...task } }).then((one) =>
      one?.outcome
    );
  equal(await push(1, { dedupKey: "k" }, "a"), "accepted");
  equal(await push(2, { dedupKey: "k" }, "a"), "duplicate");
  equal(await push(3, forbid, "b"), "accepted");
  equal(await push(4, forbid, "b"), "skipped");
  const debounce = { debounce: { key: "", forMs: 1000 } };
  equal(await push(5, debounce, "c"), "accepted");
  equal(await push(6, debounce, "c"), "accepted", "joined");
  await rejects(push(7, {}, "a"), { code: "rate_limited" });
});

test("rateLimit and Queue: both hold", async (store) => {
  const task: Partial<NewTask> = {
    ...limited(2).task,
    concurrency: { policy: "Queue", key: "", max: 1 },
  };
  for (const n of range(0, 4)) await accept(store, n, { task, receivedAt: T0 });
  deepEqual((await claimAt(store, T0)).tasks, [0]);
  await finish(store, 0);
  deepEqual(await claimAt(store, T0), { tasks: [1], nextAt: T0 + 30 * SEC });
  await finish(store, 1);
  deepEqual((await claimAt(store, T0 + 60 * SEC)).tasks, [2], "3 is due, too, but has no room");
  await finish(store, 2);
  deepEqual((await claimAt(store, T0 + 60 * SEC)).tasks, [3]);
});

test("what waits for its time waits for it over a restart", async (_, { dir }) => {
  const path = `${dir}/other.db`;
  const first = await openStore(path);
  await debounced(first, 1, T0);
  for (const n of range(2, 5)) {
    await accept(first, n, { ...limited(1), trigger: "slow", receivedAt: T0 });
  }
  deepEqual(await claimAt(first, T0), { tasks: [2], nextAt: T0 + 10 * SEC });
  await first[Symbol.asyncDispose]();
  await using again = await openStore(path);
  equal((await debounced(again, 10, T0 + SEC))?.taskId, taskIdOf(1), "still joined");
  await rejects(
    accept(again, 11, { ...limited(1, true), trigger: "slow", receivedAt: T0 + SEC }),
    { code: "rate_limited" },
  );
  deepEqual(await claimAt(again, T0 + 10 * SEC), { tasks: [1], nextAt: T0 + 60 * SEC });
  deepEqual(await claimAt(again, T0 + HOUR), { tasks: [3, 4], nextAt: undefined });
});

test("a clock that is set forward runs what is due, once", async (store) => {
  for (const n of range(0, 5)) await accept(store, n, { ...limited(1), receivedAt: T0 });
  deepEqual((await claimAt(store, T0)).tasks, [0]);
  deepEqual(await claimAt(store, T0 + 24 * HOUR), { tasks: [1, 2, 3, 4], nextAt: undefined });
  deepEqual((await claimAt(store, T0)).tasks, []);
});

test("a clock that is set back neither stops a rate nor holds up what waits for a time", async (store) => {
  for (const n of range(0, 3)) await accept(store, n, { ...limited(2), receivedAt: T0 });
  await debounced(store, 3, T0, { trigger: "other" });
  deepEqual((await claimAt(store, T0)).tasks, [0, 1]);
  const back = T0 - 24 * HOUR;
  deepEqual((await claimAt(store, back)).tasks, [2, 3], "not a day later");
  for (const n of range(4, 7)) await accept(store, n, { ...limited(2), receivedAt: back });
  deepEqual(await claimAt(store, back), { tasks: [], nextAt: back + 60 * SEC }, "as if at T0");
  deepEqual((await claimAt(store, back + 60 * SEC)).tasks, [4]);
  await rejects(
    accept(store, 8, { ...limited(2, true), receivedAt: back }),
    (error) => error instanceof AppError && (error.retryAfterSecs ?? 0) <= 180,
  );
});

test("thousands that are due at once come step by step, and none is left out", async (store) => {
  await Promise.all(
    range(0, 1200).map((n) =>
      accept(store, n, {
        ...limited(1_000_000),
        receivedAt: T0,
        task: {
          debounce: { key: String(n), forMs: SEC },
        },
      })
    ),
  );
  const seen: number[] = [];
  let next: number | undefined = T0 + SEC;
  for (let step = 0; next !== undefined && step < 10; step++) {
    const { tasks, nextAt } = await claimAt(store, T0 + HOUR, 1000);
    seen.push(...tasks);
    next = nextAt;
  }
  seen.push(...(await claimAt(store, T0 + HOUR, 1000)).tasks);
  deepEqual(seen.toSorted((a, b) => a - b), range(0, 1200));
});

test("a delivery that names its event is stored once, and its schedule moves with it", async (store) => {
  const cursor = (at: number) => ({ name: "cron default/nightly", at });
  equal(await store.findCursor("cron default/nightly"), undefined);
  const given = { once: true, receivedAt: T0 };
  const first = await accept(store, 1, { ...given, cursor: cursor(5) });
  equal(await store.findCursor("cron default/nightly"), 5);
  const again = await accept(store, 1, { ...given, cursor: cursor(9), taskId: taskIdOf(2) });
  deepEqual(again, first);
  equal(await store.findCursor("cron default/nightly"), 5, "nothing changes");
  equal((await store.listTasks({ limit: 9 })).length, 1);
  const batch = { ...given, tasks: [11, 12] };
  const outcomes = await acceptBatch(store, 3, batch);
  deepEqual(await acceptBatch(store, 3, batch), outcomes);
  await store.moveCursor(cursor(2));
  equal(await store.findCursor("cron default/nightly"), 2);
});
