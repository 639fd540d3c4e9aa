/**
 * Retention of deliveries: what no task needs any more goes, a few at a time.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { accept, acceptBatch, filterOut, idOf, taskIdOf } from "../../helpers/store_records.ts";
import { eachStore, range } from "./each_store.ts";
import { ended, prune } from "./pruned_tasks.ts";

eachStore("pruneDeliveries removes what is old and has no task any more", async (store) => {
  await ended(store, 1, { receivedAt: 10 });
  await ended(store, 2, { receivedAt: 20 });
  await acceptBatch(store, 3, { tasks: [31, 32], receivedAt: 30 });
  await filterOut(store, 4);
  await store.claimTasks(9, 1);
  await store.finishTask({ taskId: taskIdOf(31), state: "failed", reason: "", now: 9 });
  const remove = (before: number, limit = 99) => store.pruneDeliveries({ before, limit });
  const ids = async () =>
    (await store.listDeliveries({ limit: 99 })).map(({ id }) => id).toSorted();
  equal(await remove(100), 0, "all of them have tasks");
  await prune(store, { before: 102 });
  equal(await remove(100), 1);
  deepEqual(await ids(), [2, 3, 4].map(idOf));
  await prune(store, { before: 1e15 });
  equal(await remove(100), 1, "of a batch, one task is there still");
  deepEqual(await ids(), [3, 4].map(idOf));
  await store.finishTask({ taskId: taskIdOf(32), state: "failed", reason: "", now: 9 });
  await prune(store, { before: 1e15 });
  equal(await remove(100), 1);
  equal(await remove(1e15), 1, "the filtered one");
  deepEqual(await ids(), []);
  equal(await remove(1e15), 0);
});

eachStore(
  "pruneDeliveries keeps what holds the payload of a task, retried or joined",
  async (store) => {
    await ended(store, 1, { receivedAt: 10 });
    await store.retryTask({
      by: { called: "ada" },
      id: taskIdOf(2),
      of: taskIdOf(1),
      kept: [],
      keepDirectory: false,
      staysOnNode: false,
      now: 5,
    });
    const debounced = { receivedAt: 10, task: { debounce: { key: "", forMs: 10 } } };
    await accept(store, 3, debounced);
    await accept(store, 4, debounced);
    await prune(store, { before: 1e15 });
    equal(await store.pruneDeliveries({ before: 1e15, limit: 99 }), 0);
    const { tasks } = await store.claimTasks(9, 1000);
    const texts = tasks.map(({ payload }) => new TextDecoder().decode(payload));
    deepEqual(texts, ['{"n":1}', '{"n":4}']);
  },
);

eachStore("pruneDeliveries does a little at a time and goes on where it stopped", async (store) => {
  await Promise.all(range(0, 20).map((n) => ended(store, n, { receivedAt: n })));
  await prune(store, { before: 1e15, limit: 15 });
  const removed: number[] = [];
  for (let call = 0; call < 8; call++) {
    removed.push(await store.pruneDeliveries({ before: 1e15, limit: 4 }));
  }
  equal(removed.reduce((sum, n) => sum + n, 0), 15);
  ok(removed.every((n) => n <= 4));
  await prune(store, { before: 1e15 });
  for (let call = 0; call < 5; call++) await store.pruneDeliveries({ before: 1e15, limit: 4 });
  deepEqual(await store.listDeliveries({ limit: 99 }), [], "also those it had passed over");
});
