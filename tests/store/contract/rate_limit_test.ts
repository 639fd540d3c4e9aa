/**
 * `rateLimit`: no more starts than a minute allows.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, rejects, strictEqual as equal } from "node:assert/strict";
import { AppError } from "../../../src/base/errors.ts";
import type { NewTask } from "../../../src/store/task_records.ts";
import { accept, acceptBatch } from "../../helpers/store_records.ts";
import { eachStore, numberOf, range } from "./each_store.ts";
import { finish } from "./grouped_tasks.ts";
import { claimAt, limited, SEC, T0 } from "./timed_tasks.ts";

eachStore("rateLimit: a minute's worth at once, the others one after the other", async (store) => {
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

eachStore("rateLimit: triggers have rates of their own", async (store) => {
  await Promise.all(
    range(0, 4).map((n) => accept(store, n, { ...limited(1), trigger: `t${n}`, receivedAt: T0 })),
  );
  equal((await claimAt(store, T0)).tasks.length, 4);
});

eachStore("rateLimit with reject: what is beyond is refused and leaves nothing", async (store) => {
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

eachStore("rateLimit with reject: a batch starts as a whole or not at all", async (store) => {
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

eachStore("rateLimit: what is a duplicate, skipped or joined uses nothing up", async (store) => {
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

eachStore("rateLimit and Queue: both hold", async (store) => {
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
