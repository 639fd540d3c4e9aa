/**
 * `debounce`: one task for a burst of deliveries.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { accept, idOf, taskIdOf } from "../../helpers/store_records.ts";
import { eachStore, range } from "./each_store.ts";
import { claimAt, debounced, HOUR, SEC, T0 } from "./timed_tasks.ts";

eachStore(
  "debounce: several deliveries become one task, with the payload of the latest",
  async (store) => {
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
  },
);

eachStore(
  "debounce: once the task has been handed over, the next delivery starts another",
  async (store) => {
    await debounced(store, 1, T0);
    await claimAt(store, T0 + 10 * SEC);
    equal((await debounced(store, 2, T0 + 11 * SEC))?.taskId, taskIdOf(2));
    await store.requeueTask(taskIdOf(1), { now: 5 });
    equal((await debounced(store, 3, T0 + 12 * SEC))?.taskId, taskIdOf(2), "1 has begun");
    deepEqual(await claimAt(store, T0 + 20 * SEC), { tasks: [1], nextAt: T0 + 21 * SEC });
    deepEqual(await claimAt(store, T0 + 21 * SEC), { tasks: [2], nextAt: undefined });
  },
);

eachStore("debounce: keys, triggers and projects are apart", async (store) => {
  await debounced(store, 1, T0, { key: "a" });
  await debounced(store, 2, T0, { key: "b" });
  await debounced(store, 3, T0, { key: "a", trigger: "other" });
  await debounced(store, 4, T0, { key: "a", project: "other" });
  equal((await debounced(store, 5, T0, { key: "a" }))?.taskId, taskIdOf(1));
  deepEqual((await claimAt(store, T0 + 10 * SEC)).tasks.toSorted(), [1, 2, 3, 4]);
});

eachStore("debounce: 100 deliveries at once are one task", async (store) => {
  const outcomes = await Promise.all(range(0, 100).map((n) => debounced(store, n, T0 + n)));
  deepEqual(new Set(outcomes.map((one) => one?.taskId)), new Set([taskIdOf(0)]));
  const { tasks: [claimed] } = await store.claimTasks(9, T0 + HOUR);
  equal(claimed?.task.deliveryId, idOf(99));
});

eachStore(
  "debounce: a repetition of a joined delivery is a duplicate of that task",
  async (store) => {
    await debounced(store, 1, T0, { dedupKey: "one" });
    await debounced(store, 2, T0, { dedupKey: "two" });
    deepEqual(await debounced(store, 3, T0, { dedupKey: "two" }), {
      outcome: "duplicate",
      reason: `seen before, in delivery ${idOf(2)}, which came 0ms earlier`,
      taskId: taskIdOf(1),
      duplicateOf: idOf(2),
    });
  },
);

eachStore(
  "debounce: the latest payload brings its plan, group and workspace along",
  async (store) => {
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
  },
);

eachStore("debounce and Forbid: joined while it waits, skipped while it runs", async (store) => {
  const forbid = { concurrency: { policy: "Forbid", key: "", max: 1 } } as const;
  equal((await debounced(store, 1, T0, forbid))?.taskId, taskIdOf(1));
  equal((await debounced(store, 2, T0, forbid))?.taskId, taskIdOf(1));
  await claimAt(store, T0 + 10 * SEC);
  equal((await debounced(store, 3, T0, forbid))?.outcome, "skipped");
});

eachStore(
  "debounce and Replace: the running one goes once, for a task that is joined",
  async (store) => {
    const replace = { concurrency: { policy: "Replace", key: "", max: 1 } } as const;
    await debounced(store, 1, T0, replace);
    await claimAt(store, T0 + 10 * SEC);
    deepEqual((await debounced(store, 2, T0 + 11 * SEC, replace))?.replaces, [taskIdOf(1)]);
    const joined = await debounced(store, 3, T0 + 12 * SEC, replace);
    deepEqual([joined?.taskId, joined?.replaces], [taskIdOf(2), undefined]);
    await store.finishTask({ taskId: taskIdOf(1), state: "cancelled", reason: "", now: T0 });
    deepEqual(await claimAt(store, T0 + 21 * SEC), { tasks: [2], nextAt: undefined });
  },
);
