/**
 * Retention of events of a chat: what is old goes with its thread, what is needed stays.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { eventIdOf, sourceEvent } from "../../helpers/source_event_records.ts";
import { taskIdOf } from "../../helpers/store_records.ts";
import { eachStore } from "./each_store.ts";
import { DEMAND, IGNORED, startTask } from "./chat_tasks.ts";

eachStore(
  "pruneSourceEvents removes what is old and whose task is gone, never what waits",
  async (store) => {
    await startTask(store, 1, { receivedAt: 10 });
    await startTask(store, 2, { receivedAt: 20 });
    for (const n of [3, 4, 5]) await store.recordSourceEvent(sourceEvent(n, { receivedAt: n }));
    const { events } = await store.claimSourceEvents({ ...DEMAND, limit: 2 });
    deepEqual(events.map(({ event }) => event.id), [3, 4].map(eventIdOf));
    await store.routeSourceEvent(eventIdOf(3), IGNORED, 1);
    await store.recordSourceEvent(sourceEvent(6, { receivedAt: 1000 }));
    const ids = async () => (await store.listSourceEvents({ limit: 99 })).map(({ id }) => id);
    const threads = async () =>
      (await store.listBindings({ limit: 99 })).map(({ threadId }) => threadId);
    const prune = (before: number, limit = 99) => store.pruneSourceEvents({ before, limit });
    equal(await prune(100), 1, "the ignored one");
    deepEqual(await ids(), [6, 5, 4, 2, 1].map(eventIdOf));
    await store.claimTasks(1, 1);
    await store.finishTask({ taskId: taskIdOf(1), state: "failed", reason: "", now: 2 });
    equal((await store.pruneTasks({ before: 100, limit: 9 })).length, 1);
    equal(await store.pruneDeliveries({ before: 100, limit: 99 }), 1, "that of the ignored one");
    equal(await prune(100), 2, "the event and the thread of the task that is gone");
    deepEqual([await ids(), await threads()], [[6, 5, 4, 2].map(eventIdOf), ["2"]]);
    equal(await store.pruneDeliveries({ before: 100, limit: 99 }), 1);
    equal((await store.listDeliveries({ limit: 99 })).length, 4);
    equal(await prune(100), 0);
  },
);

eachStore("pruneSourceEvents keeps the event in whose thread a retry answers", async (store) => {
  await startTask(store, 1, { receivedAt: 10 });
  await store.claimTasks(1, 1);
  await store.finishTask({ taskId: taskIdOf(1), state: "failed", reason: "", now: 2 });
  await store.retryTask({
    by: { called: "ada" },
    id: taskIdOf(2),
    of: taskIdOf(1),
    kept: [],
    keepDirectory: false,
    staysOnNode: false,
    now: 3,
  });
  await store.pruneTasks({ before: 100, limit: 9 });
  equal(await store.pruneSourceEvents({ before: 100, limit: 9 }), 0);
  equal((await store.findThreadOfTask(taskIdOf(2)))?.threadId, "1");
  equal((await store.listBindings({ limit: 9 }))[0]?.taskId, taskIdOf(2));
});

eachStore(
  "pruneSourceEvents does a little at a time and goes on where it stopped",
  async (store) => {
    const all = Array.from({ length: 50 }, (_, n) => n);
    await Promise.all(
      all.map((n) =>
        store.recordSourceEvent({ ...sourceEvent(n, { receivedAt: n }), ignored: "x" })
      ),
    );
    await startTask(store, 60, { receivedAt: 60 });
    const removed: number[] = [];
    for (let n = 0; n < 10; n++) {
      removed.push(await store.pruneSourceEvents({ before: 100, limit: 7 }));
    }
    deepEqual(removed, [7, 7, 7, 7, 7, 7, 7, 1, 0, 0]);
    await store.claimTasks(1, 1);
    await store.finishTask({ taskId: taskIdOf(60), state: "failed", reason: "", now: 2 });
    await store.pruneTasks({ before: 100, limit: 9 });
    equal(await store.pruneSourceEvents({ before: 100, limit: 7 }), 2);
    deepEqual(await store.listSourceEvents({ limit: 9 }), []);
    deepEqual(await store.listBindings({ limit: 9 }), []);
  },
);
