/**
 * Retention of tasks: what is old or too much goes with all that belongs to it, a few at a time.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import type { Store } from "../../../src/store/store.ts";
import { accept, readMessages, taskIdOf } from "../../helpers/store_records.ts";
import { eachStore, numberOf, range } from "./each_store.ts";
import { ended, FOREVER, prune } from "./pruned_tasks.ts";

const left = async (store: Store) =>
  (await store.listTasks({ limit: 9999 })).map(({ id }) => numberOf(id)).toReversed();

eachStore(
  "pruneTasks removes what ended before a time, oldest end first, a few at a time",
  async (store) => {
    for (const n of [1, 2, 3, 4, 5]) await ended(store, n, { at: 200 - n });
    await accept(store, 6);
    await accept(store, 7);
    await store.claimTasks(1, 1);
    deepEqual(await prune(store, { before: 199, limit: 3 }), [5, 4, 3]);
    deepEqual(await prune(store, { before: 199, limit: 3 }), [2]);
    deepEqual(await prune(store, { before: 199, limit: 3 }), []);
    deepEqual(await left(store), [1, 6, 7]);
    deepEqual(await prune(store, { before: 1e15 }), [1], "never what waits or runs");
  },
);

eachStore("pruneTasks takes everything along that belongs to a task", async (store) => {
  await accept(store, 1, { task: { dedupKey: "k1" } });
  await accept(store, 2, {
    task: { dedupKey: "k2" },
    plan: { hash: "other", json: '{"steps":[]}' },
  });
  await store.claimTasks(9, 1);
  for (const n of [1, 2]) {
    await store.addToInbox(taskIdOf(n), { n }, 1);
    await readMessages(store, n, 1);
  }
  await store.setTaskDirectory(taskIdOf(1), "/data/copies/1");
  await store.finishTask({ taskId: taskIdOf(1), state: "failed", reason: "", now: 9 });
  deepEqual(await store.pruneTasks({ ...FOREVER, before: 10 }), [
    { id: taskIdOf(1), directory: "/data/copies/1" },
  ]);
  deepEqual(await store.findTasks(taskIdOf(1)), []);
  deepEqual(await store.listInbox(taskIdOf(1)), []);
  equal((await store.listInbox(taskIdOf(2))).length, 1);
  equal(await store.findPlan(taskIdOf(1)), undefined);
  equal((await accept(store, 3, { task: { dedupKey: "k1" } }))?.outcome, "accepted");
  equal((await accept(store, 4, { task: { dedupKey: "k2" } }))?.outcome, "duplicate");
  await accept(store, 5, { taskId: taskIdOf(1) });
  const [same] = await store.findTasks(taskIdOf(1));
  deepEqual(same?.steps.map(({ state }) => state), ["pending", "pending"], "none of its steps");
  deepEqual(await store.listInbox(taskIdOf(1)), []);
  ok(await store.findPlan(taskIdOf(2)), "the other one still has its plan");
});

eachStore(
  "a plan stays as long as one task has it, retried and joined ones included",
  async (store) => {
    await ended(store, 1);
    await store.retryTask({
      by: { called: "ada" },
      id: taskIdOf(2),
      of: taskIdOf(1),
      kept: [],
      keepDirectory: false,
      staysOnNode: false,
      now: 5,
    });
    deepEqual(await prune(store, { before: 1e15 }), [1]);
    equal((await store.claimTasks(9, 1)).tasks.length, 1);
  },
);

eachStore("pruneTasks keeps the newest that have ended of each trigger", async (store) => {
  for (const n of range(0, 12)) await ended(store, n, { trigger: `t${n % 3}` });
  await accept(store, 12, { trigger: "t0" });
  deepEqual((await prune(store, { keep: 2 })).toSorted((a, b) => a - b), [0, 1, 2, 3, 4, 5]);
  deepEqual(await left(store), [6, 7, 8, 9, 10, 11, 12]);
  deepEqual(await prune(store, { keep: 2 }), []);
  deepEqual((await prune(store, { keep: 0 })).toSorted((a, b) => a - b), [6, 7, 8, 9, 10, 11]);
  deepEqual(await left(store), [12], "which waits");
});

eachStore("pruneTasks tells triggers of the same name in several projects apart", async (store) => {
  const triggers = ["a", "b", "c"].flatMap((project) =>
    ["t", "u"].map((trigger) => ({ project, trigger }))
  );
  for (const n of range(0, 18)) await ended(store, n, triggers[n % 6]);
  deepEqual((await prune(store, { keep: 1 })).toSorted((a, b) => a - b), range(0, 12));
  deepEqual(await left(store), range(12, 18));
});

eachStore(
  "pruneTasks keeps the newest of each trigger a few at a time, round after round",
  async (store) => {
    for (const n of range(0, 30)) await ended(store, n, { trigger: `t${n % 3}` });
    const seen: number[] = [];
    for (let call = 0; call < 20; call++) seen.push(...await prune(store, { keep: 1, limit: 4 }));
    deepEqual(seen.toSorted((a, b) => a - b), range(0, 27));
    for (const n of range(30, 33)) await ended(store, n, { trigger: `t${n % 3}` });
    seen.splice(0);
    for (let call = 0; call < 3; call++) seen.push(...await prune(store, { keep: 1, limit: 4 }));
    deepEqual(seen.toSorted((a, b) => a - b), [27, 28, 29], "another round");
  },
);

eachStore("pruneTasks leaves ends that nobody has looked at", async (store) => {
  await accept(store, 1);
  await store.claimTasks(9, 1);
  const end = { taskId: taskIdOf(1), state: "failed", reason: "", now: 9 } as const;
  await store.finishTask({ ...end, followed: true });
  deepEqual(await prune(store, { before: 1e15, keep: 0 }), []);
  await store.forgetTaskEnd(taskIdOf(1), []);
  deepEqual(await prune(store, { before: 1e15 }), [1]);
});
