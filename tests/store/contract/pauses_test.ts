/**
 * Pauses: which tasks no claim brings, until when, and what goes on in spite of them.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { accept, taskIdOf } from "../../helpers/store_records.ts";
import { eachStore, numberOf } from "./each_store.ts";
import { claimAt, HOUR, SEC, T0 } from "./timed_tasks.ts";
import type { Store } from "../../../src/store/store.ts";

const PAUSE = { project: "", reason: "upgrade", by: "ada", pausedAt: T0 };
const SHOP = { ...PAUSE, project: "shop", reason: "it moves" };

const end = (store: Store, n: number) =>
  store.finishTask({ taskId: taskIdOf(n), state: "succeeded", reason: "", now: T0 });

const claimed = async (store: Store, now = T0) =>
  (await store.claimTasks(99, now)).tasks
    .map(({ task }) => numberOf(task.id));

eachStore(
  "nothing is claimed while all is paused; what runs goes on, what comes is stored",
  async (store) => {
    for (const n of [1, 2]) await accept(store, n);
    deepEqual((await store.claimTasks(1, T0)).tasks.length, 1);
    await store.pauseTasks(PAUSE);
    deepEqual(await store.listPauses(T0), [PAUSE]);
    equal((await accept(store, 3))?.outcome, "accepted");
    const claim = await store.claimTasks(9, T0);
    deepEqual([claim.tasks, claim.nextAt], [[], undefined]);
    equal(await store.countRunning(""), 1);
    equal(await end(store, 1), true);
    equal(await store.countRunning(""), 0);
    deepEqual(await claimed(store), []);
    deepEqual(await store.resumeTasks("", T0), PAUSE);
    deepEqual([await store.listPauses(T0), await store.resumeTasks("", T0)], [[], undefined]);
    deepEqual(await claimed(store), [2, 3]);
  },
);

eachStore("the tasks of one project are passed over, those of others are not", async (store) => {
  for (const n of [1, 2, 3]) await accept(store, n, { project: "shop" });
  for (const n of [4, 5]) await accept(store, n);
  await store.pauseTasks(SHOP);
  deepEqual(await claimed(store), [4, 5]);
  deepEqual([await store.countRunning("shop"), await store.countRunning("default")], [0, 2]);
  deepEqual(await claimed(store), []);
  await accept(store, 6, { project: "shop" });
  await accept(store, 7);
  deepEqual(await claimed(store), [7]);
  await store.pauseTasks(PAUSE);
  deepEqual(await store.listPauses(T0), [PAUSE, SHOP]);
  await store.resumeTasks("shop", T0);
  deepEqual(await claimed(store), [], "all is paused");
  await store.resumeTasks("", T0);
  deepEqual(await claimed(store), [1, 2, 3, 6]);
});

eachStore("a pause ends by itself at its time, of which a claim tells", async (store) => {
  for (const n of [1, 2]) await accept(store, n, { project: n === 1 ? "shop" : "default" });
  const [hour, second] = [T0 + HOUR, T0 + SEC];
  await store.pauseTasks({ ...PAUSE, until: second });
  await store.pauseTasks({ ...SHOP, until: hour });
  equal((await claimAt(store, T0)).nextAt, second);
  const then = await store.claimTasks(9, second);
  deepEqual([then.tasks.map(({ task }) => numberOf(task.id)), then.nextAt], [[2], hour]);
  deepEqual(await claimed(store, hour), [1]);
  equal(await store.resumeTasks("shop", hour), undefined, "it was over");
});

eachStore("another pause of the same project replaces the first", async (store) => {
  await store.pauseTasks({ ...PAUSE, until: T0 + SEC });
  await store.pauseTasks({ ...PAUSE, by: "bob", reason: "longer" });
  deepEqual(await store.listPauses(T0 + HOUR), [{ ...PAUSE, by: "bob", reason: "longer" }]);
});

eachStore("a task that is put back, or goes on after a wait, does not start", async (store) => {
  await accept(store, 1);
  await accept(store, 2);
  await claimed(store);
  await store.openWait({
    taskId: taskIdOf(2),
    position: 0,
    round: 1,
    project: "default",
    parts: [{ kind: "time", dueAt: T0 + SEC, isRelative: false }],
    now: T0,
  });
  await store.parkTask(taskIdOf(2), { steps: [], until: T0 + SEC, now: T0, waits: [0] });
  await store.pauseTasks(PAUSE);
  await store.requeueTask(taskIdOf(1), { now: 5 });
  deepEqual(await claimed(store, T0 + HOUR), []);
  await store.resumeTasks("", T0 + HOUR);
  deepEqual(await claimed(store, T0 + HOUR), [1, 2]);
});
