/**
 * Retention in the store: what is old or too much goes with all that belongs to it, what is needed
 * stays, and each call does a little.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import type { Store } from "../../src/store/store.ts";
import type { NewTask } from "../../src/store/task_records.ts";
import {
  accept,
  acceptBatch,
  filterOut,
  idOf,
  PLAN,
  rowsOf,
  step,
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

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);
const numberOf = (id: string) => Number(id.slice(-6));
const FOREVER = { before: 0, keep: 1_000_000, limit: 1000 };

/** Stores task `n` and ends it at `at`. */
async function ended(
  store: Store,
  n: number,
  given: {
    at?: number;
    project?: string;
    trigger?: string;
    receivedAt?: number;
    task?: Partial<NewTask>;
  } = {},
) {
  await accept(store, n, given);
  await store.claimTasks(999, 1);
  const taskId = taskIdOf(n);
  await store.finishTask({ taskId, state: "succeeded", reason: "", now: given.at ?? 100 + n });
}

async function prune(store: Store, options: Partial<typeof FOREVER>): Promise<number[]> {
  return (await store.pruneTasks({ ...FOREVER, ...options })).map(({ id }) => numberOf(id));
}

const left = async (store: Store) =>
  (await store.listTasks({ limit: 9999 })).map(({ id }) => numberOf(id)).toReversed();

test("pruneTasks removes what ended before a time, oldest end first, a few at a time", async (store) => {
  for (const n of [1, 2, 3, 4, 5]) await ended(store, n, { at: 200 - n });
  await accept(store, 6);
  await accept(store, 7);
  await store.claimTasks(1, 1);
  deepEqual(await prune(store, { before: 199, limit: 3 }), [5, 4, 3]);
  deepEqual(await prune(store, { before: 199, limit: 3 }), [2]);
  deepEqual(await prune(store, { before: 199, limit: 3 }), []);
  deepEqual(await left(store), [1, 6, 7]);
  deepEqual(await prune(store, { before: 1e15 }), [1], "never what waits or runs");
});

test("pruneTasks takes everything along that belongs to a task", async (store, { path }) => {
  await accept(store, 1, { task: { dedupKey: "k1" } });
  await accept(store, 2, {
    task: { dedupKey: "k2" },
    plan: { hash: "other", json: '{"steps":[]}' },
  });
  await store.claimTasks(9, 1);
  for (const n of [1, 2]) {
    await store.saveStep(taskIdOf(n), step(0, "succeeded"));
    await store.addToInbox(taskIdOf(n), { n }, 1);
  }
  await store.setTaskDirectory(taskIdOf(1), "/data/copies/1");
  await store.finishTask({ taskId: taskIdOf(1), state: "failed", reason: "", now: 9 });
  deepEqual(await store.pruneTasks({ ...FOREVER, before: 10 }), [
    { id: taskIdOf(1), directory: "/data/copies/1" },
  ]);
  const rows = (sql: string) => rowsOf(path, sql).map((row) => Object.values(row)[0]);
  deepEqual(rows("SELECT task_id FROM steps"), [taskIdOf(2)]);
  deepEqual(rows("SELECT task_id FROM inbox"), [taskIdOf(2)]);
  deepEqual(rows("SELECT task_id FROM dedup_keys"), [taskIdOf(2)]);
  deepEqual(rows("SELECT hash FROM plans"), ["other"]);
  deepEqual(rows("SELECT hash FROM plan_uses"), ["other"]);
  ok(await store.findPlan(taskIdOf(2)), "the other one still has its plan");
});

test(
  "a plan stays as long as one task has it, retried and joined ones included",
  async (store, { path }) => {
    await ended(store, 1);
    await store.retryTask({
      id: taskIdOf(2),
      of: taskIdOf(1),
      kept: [],
      keepDirectory: false,
      now: 5,
    });
    deepEqual(await prune(store, { before: 1e15 }), [1]);
    deepEqual(rowsOf(path, "SELECT * FROM plan_uses").map((row) => ({ ...row })), [
      { hash: PLAN.hash, tasks: 1 },
    ]);
    equal((await store.claimTasks(9, 1)).tasks.length, 1);
  },
);

test("pruneTasks keeps the newest that have ended of each trigger", async (store) => {
  for (const n of range(0, 12)) await ended(store, n, { trigger: `t${n % 3}` });
  await accept(store, 12, { trigger: "t0" });
  deepEqual((await prune(store, { keep: 2 })).toSorted((a, b) => a - b), [0, 1, 2, 3, 4, 5]);
  deepEqual(await left(store), [6, 7, 8, 9, 10, 11, 12]);
  deepEqual(await prune(store, { keep: 2 }), []);
  deepEqual((await prune(store, { keep: 0 })).toSorted((a, b) => a - b), [6, 7, 8, 9, 10, 11]);
  deepEqual(await left(store), [12], "which waits");
});

test("pruneTasks tells triggers of the same name in several projects apart", async (store) => {
  const triggers = ["a", "b", "c"].flatMap((project) =>
    ["t", "u"].map((trigger) => ({ project, trigger }))
  );
  for (const n of range(0, 18)) await ended(store, n, triggers[n % 6]);
  deepEqual((await prune(store, { keep: 1 })).toSorted((a, b) => a - b), range(0, 12));
  deepEqual(await left(store), range(12, 18));
});

test("pruneTasks keeps the newest of each trigger a few at a time, round after round", async (store) => {
  for (const n of range(0, 30)) await ended(store, n, { trigger: `t${n % 3}` });
  const seen: number[] = [];
  for (let call = 0; call < 20; call++) seen.push(...await prune(store, { keep: 1, limit: 4 }));
  deepEqual(seen.toSorted((a, b) => a - b), range(0, 27));
  for (const n of range(30, 33)) await ended(store, n, { trigger: `t${n % 3}` });
  seen.splice(0);
  for (let call = 0; call < 3; call++) seen.push(...await prune(store, { keep: 1, limit: 4 }));
  deepEqual(seen.toSorted((a, b) => a - b), [27, 28, 29], "another round");
});

test("pruneTasks leaves ends that nobody has looked at", async (store) => {
  await accept(store, 1);
  await store.claimTasks(9, 1);
  const end = { taskId: taskIdOf(1), state: "failed", reason: "", now: 9 } as const;
  await store.finishTask({ ...end, followed: true });
  deepEqual(await prune(store, { before: 1e15, keep: 0 }), []);
  await store.forgetTaskEnd(taskIdOf(1));
  deepEqual(await prune(store, { before: 1e15 }), [1]);
});

test("pruneDeliveries removes what is old and has no task any more", async (store) => {
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

test("pruneDeliveries keeps what holds the payload of a task, retried or joined", async (store) => {
  await ended(store, 1, { receivedAt: 10 });
  await store.retryTask({
    id: taskIdOf(2),
    of: taskIdOf(1),
    kept: [],
    keepDirectory: false,
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
});

test("pruneDeliveries does a little at a time and goes on where it stopped", async (store) => {
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

test("keys of events go when they are too old to tell repetitions", async (store, { path }) => {
  for (const n of range(0, 50)) {
    await accept(store, n, { receivedAt: n * 100, task: { dedupKey: `k${n}` } });
  }
  ok(rowsOf(path, "SELECT * FROM dedup_keys").length <= 12, "those of the last second");
  const again = await accept(store, 60, { receivedAt: 4950, task: { dedupKey: "k45" } });
  equal(again?.outcome, "duplicate");
});
