/**
 * Ends of tasks: cancelled, and followed by triggers.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { accept, taskIdOf } from "../../helpers/store_records.ts";
import { eachStore, numberOf } from "./each_store.ts";
import { claim, grouped, inState } from "./grouped_tasks.ts";

eachStore(
  "cancelTask: what waits ends at once, what runs is marked, what ended stays",
  async (store) => {
    for (const n of [1, 2, 3]) await accept(store, n, grouped("Queue"));
    const cancel = (n: number, reason = "by hand") =>
      store.cancelTask(taskIdOf(n), { reason, now: 77, followed: true });
    deepEqual(await claim(store), [1]);
    equal(await cancel(2), "cancelled");
    equal(await cancel(2), "ended");
    equal(await cancel(1), "stopping");
    equal(await cancel(1, "again"), "stopping");
    deepEqual(await inState(store, "running"), [1], "until no process is left");
    equal(
      await store.finishTask({ taskId: taskIdOf(1), state: "cancelled", reason: "", now: 80 }),
      true,
    );
    equal(await cancel(1), "ended");
    equal(await cancel(999_999), "ended", "no such task");
    const [one, two] = await Promise.all([1, 2].map((n) => store.findTasks(taskIdOf(n))));
    deepEqual([one?.[0]?.state, one?.[0]?.reason, one?.[0]?.finishedAt], [
      "cancelled",
      "by hand",
      80,
    ]);
    deepEqual([two?.[0]?.reason, two?.[0]?.finishedAt], ["by hand", 77]);
    deepEqual((await store.listTaskEnds(9)).map(({ id }) => id), [taskIdOf(2)]);
    deepEqual(await claim(store), [3]);
  },
);

eachStore(
  "a task that was interrupted is cancelled by way of the worker: it has steps to end",
  async (store) => {
    await accept(store, 1);
    await claim(store);
    await store.requeueTask(taskIdOf(1), { now: 5 });
    equal(await store.cancelTask(taskIdOf(1), { reason: "by hand", now: 7 }), "stopping");
    const { tasks: [claimed] } = await store.claimTasks(1, 8);
    equal(claimed?.task.cancelReason, "by hand");
  },
);

eachStore(
  "finishTask notes the ends that triggers follow, until they have been looked at",
  async (store) => {
    for (const n of [1, 2, 3]) await accept(store, n);
    await claim(store);
    const end = { state: "failed", reason: "", now: 9 } as const;
    await store.finishTask({ ...end, taskId: taskIdOf(3), followed: true });
    await store.finishTask({ ...end, taskId: taskIdOf(2) });
    await store.finishTask({ ...end, taskId: taskIdOf(1), followed: true });
    equal(await store.finishTask({ ...end, taskId: taskIdOf(1), followed: true }), false);
    await accept(store, 4, { plan: undefined, task: { followed: true } });
    const ends = async (limit = 9) =>
      (await store.listTaskEnds(limit)).map(({ id }) => numberOf(id));
    deepEqual(await ends(), [1, 3, 4]);
    deepEqual(await ends(1), [1]);
    await store.forgetTaskEnd(taskIdOf(1), []);
    await store.forgetTaskEnd(taskIdOf(1), []);
    deepEqual(await ends(), [3, 4]);
  },
);
