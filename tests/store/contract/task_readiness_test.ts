/**
 * Why a pending task does not run yet: facts, as they are when it is read.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { Store } from "../../../src/store/store.ts";
import type { TaskReadiness } from "../../../src/store/task_records.ts";
import { accept, STEPS, taskIdOf } from "../../helpers/store_records.ts";
import { eachStore, range } from "./each_store.ts";
import { claim, finish, grouped } from "./grouped_tasks.ts";
import { claimAt, debounced, limited, SEC, T0 } from "./timed_tasks.ts";

async function readinessOf(store: Store, n: number): Promise<TaskReadiness | undefined> {
  const [found] = await store.findTasks(taskIdOf(n));
  const [listed] = await store.listTasks({ ids: [taskIdOf(n)], limit: 1 });
  deepEqual(listed?.readiness, found?.readiness, "a list says the same");
  return found?.readiness;
}

eachStore(
  "a task that is ready waits for a worker, and one that runs for nothing",
  async (store) => {
    await accept(store, 1);
    deepEqual(await readinessOf(store, 1), { is: "ready" });
    await claim(store);
    equal(await readinessOf(store, 1), undefined);
    await store.requeueTask(taskIdOf(1), { now: 5 });
    deepEqual(await readinessOf(store, 1), { is: "ready" }, "interrupted");
    await claim(store);
    await finish(store, 1);
    equal(await readinessOf(store, 1), undefined);
  },
);

eachStore("a task for certain nodes says for which", async (store) => {
  const workspace = { path: "/w", nodes: ["gpu"] };
  const plan = { hash: "gpu", json: JSON.stringify({ steps: [{ id: STEPS[0] }], workspace }) };
  await accept(store, 1, { plan });
  deepEqual(await readinessOf(store, 1), { is: "ready", nodes: ["gpu"] });
});

eachStore("a queued task names the one in its way, and what comes after that", async (store) => {
  for (const n of [1, 2, 3]) await accept(store, n, grouped("Queue", { key: "a" }));
  await accept(store, 4, grouped("Queue", { key: "b" }));
  const behind = (n: number): TaskReadiness => ({
    is: "queued",
    in: "group",
    max: 1,
    open: 1,
    first: taskIdOf(n),
  });
  deepEqual(await readinessOf(store, 2), behind(1), "which itself waits for a worker");
  await claim(store);
  deepEqual(await Promise.all([2, 3].map((n) => readinessOf(store, n))), [behind(1), behind(1)]);
  await finish(store, 1);
  deepEqual(await readinessOf(store, 2), { is: "ready" });
  deepEqual(await readinessOf(store, 3), behind(2));
});

eachStore("the limit of the newest task in the queue is named: it holds for all", async (store) => {
  for (const n of [1, 2, 3]) await accept(store, n, grouped("Queue", { max: 2 }));
  deepEqual(await readinessOf(store, 3), {
    is: "queued",
    in: "group",
    max: 2,
    open: 2,
    first: taskIdOf(1),
  });
  await accept(store, 4, grouped("Queue", { max: 1 }));
  deepEqual(await readinessOf(store, 3), {
    is: "queued",
    in: "group",
    max: 1,
    open: 2,
    first: taskIdOf(1),
  });
});

eachStore("a task is queued for room in its workspace, also behind its group", async (store) => {
  const inWorkspace = (n: number, key: string) =>
    accept(store, n, { task: { concurrency: { policy: "Queue", key, max: 1 }, workspaceMax: 1 } });
  await inWorkspace(1, "a");
  await inWorkspace(2, "b");
  await inWorkspace(3, "b");
  await claim(store);
  const full: TaskReadiness = {
    is: "queued",
    in: "workspace",
    max: 1,
    open: 1,
    first: taskIdOf(1),
  };
  deepEqual(await readinessOf(store, 2), full);
  deepEqual(await readinessOf(store, 3), {
    is: "queued",
    in: "group",
    max: 1,
    open: 1,
    first: taskIdOf(2),
  });
});

eachStore("a task that is delayed says until when, and by what", async (store) => {
  await debounced(store, 1, T0);
  deepEqual(await readinessOf(store, 1), { is: "delayed", until: T0 + 10 * SEC, by: ["debounce"] });
  for (const n of [2, 3]) {
    await accept(store, n, { receivedAt: T0, trigger: "often", ...limited(1) });
  }
  deepEqual(await readinessOf(store, 2), { is: "ready" });
  deepEqual(await readinessOf(store, 3), {
    is: "delayed",
    until: T0 + 60 * SEC,
    by: ["rateLimit"],
  });
  await debounced(store, 4, T0, { rateLimit: { perMinute: 60, reject: false } });
  deepEqual((await readinessOf(store, 4))?.is, undefined, "it has joined the first");
  deepEqual((await claimAt(store, T0 + 10 * SEC)).tasks, [1, 2]);
  await debounced(store, 5, T0 + 20 * SEC, {
    key: "other",
    rateLimit: { perMinute: 60, reject: false },
  });
  deepEqual(await readinessOf(store, 5), {
    is: "delayed",
    until: T0 + 30 * SEC,
    by: ["debounce", "rateLimit"],
  });
});

eachStore("a list of many that are queued says behind which", async (store) => {
  await Promise.all(
    range(0, 60).map((n) => accept(store, n, grouped("Queue", { key: String(n % 20) }))),
  );
  const tasks = await store.listTasks({ state: "pending", limit: 100 });
  const first = tasks.toReversed().map(({ readiness }) =>
    readiness?.is === "queued" ? readiness.first : ""
  );
  deepEqual(first, range(0, 60).map((n) => n < 20 ? "" : taskIdOf(n % 20)));
});
