/**
 * Which tasks a claim brings first: by priority, then by age.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { accept, acceptBatch, taskIdOf } from "../../helpers/store_records.ts";
import { eachStore, numberOf, range } from "./each_store.ts";
import { T0 } from "./timed_tasks.ts";
import type { Store } from "../../../src/store/store.ts";

const claim = async (store: Store, limit: number) =>
  (await store.claimTasks(limit, T0)).tasks.map(({ task }) => numberOf(task.id));

eachStore("one task of high priority goes before 10,000 of low priority", async (store) => {
  for (const part of range(0, 20)) {
    const tasks = range(1 + part * 500, 501 + part * 500);
    await acceptBatch(store, part + 1, { tasks, task: { priority: "low" } });
  }
  await accept(store, 20_001, { task: { priority: "high" } });
  await accept(store, 20_002);
  deepEqual(await claim(store, 1), [20_001]);
  deepEqual(await claim(store, 2), [1, 20_002], "a claim gives its tasks in the order of ids");
  deepEqual(await claim(store, 2), [2, 3]);
});

eachStore(
  "of one priority the oldest goes first, and the oldest low one is counted",
  async (store) => {
    equal((await store.counts()).oldestLowAt, undefined);
    for (const n of [1, 2, 3, 4, 5, 6]) {
      const given = n % 3 === 0 ? {} : { priority: n % 3 === 1 ? "low" as const : "high" as const };
      await accept(store, n, { receivedAt: n, task: given });
    }
    const { oldestLowAt, oldestReadyAt } = await store.counts();
    deepEqual([oldestLowAt, oldestReadyAt], [1, 1]);
    const order: number[] = [];
    for (const _ of range(0, 6)) order.push(...await claim(store, 1));
    deepEqual(order, [2, 5, 3, 6, 1, 4]);
  },
);

eachStore("a retry, and a task that is put back, keep their priority", async (store) => {
  await accept(store, 1, { task: { priority: "high" } });
  await claim(store, 1);
  await store.finishTask({ taskId: taskIdOf(1), state: "failed", reason: "", now: T0 });
  for (const n of [2, 3]) await accept(store, n);
  await store.retryTask({
    by: { called: "ada" },
    id: taskIdOf(9),
    of: taskIdOf(1),
    kept: [],
    keepDirectory: false,
    staysOnNode: false,
    now: T0,
  });
  deepEqual(await claim(store, 1), [9]);
  await store.requeueTask(taskIdOf(9), { now: 5 });
  deepEqual(await claim(store, 1), [9]);
  deepEqual(await claim(store, 9), [2, 3]);
});
