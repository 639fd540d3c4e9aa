/**
 * Room in a project (`maxParallel`): a claim takes no more tasks of it than may run at once.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { accept, taskIdOf } from "../../helpers/store_records.ts";
import { eachStore, range } from "./each_store.ts";
import { claim, finish, grouped } from "./grouped_tasks.ts";
import { limitProject } from "./limited_projects.ts";
import { claimAt, HOUR, SEC, T0 } from "./timed_tasks.ts";
import type { Store } from "../../../src/store/store.ts";

const SHOP = { project: "shop" };

eachStore("no more tasks of a project run than its limit, over all its triggers", async (store) => {
  deepEqual(await store.listProjectRooms(), []);
  await limitProject(store, "shop", 2);
  for (const n of range(0, 5)) await accept(store, n, { ...SHOP, trigger: `t${n}` });
  for (const n of range(5, 8)) await accept(store, n);
  deepEqual(await claim(store), [0, 1, 5, 6, 7], "other projects are not held up");
  deepEqual(await store.listProjectRooms(), [{ ...SHOP, max: 2, running: 2 }]);
  deepEqual(await claim(store), []);
  await finish(store, 5);
  deepEqual(await claim(store), [], "another project");
  await finish(store, 1);
  deepEqual(await claim(store), [2]);
  await store.requeueTask(taskIdOf(0), { now: 5 });
  deepEqual(await claim(store, 1), [0], "one that is put back goes first");
  await Promise.all([finish(store, 0), finish(store, 2)]);
  deepEqual(await claim(store), [3, 4]);
});

eachStore("a claim of a few gives them to those that have room", async (store) => {
  await limitProject(store, "shop", 1);
  await limitProject(store, "farm", 1);
  for (const n of range(0, 4)) await accept(store, n, SHOP);
  for (const n of range(4, 8)) await accept(store, n, { project: "farm" });
  for (const n of [8, 9]) await accept(store, n);
  deepEqual(await claim(store, 3), [0, 4, 8]);
  deepEqual(await claim(store, 3), [9]);
});

eachStore("within a project the priority decides, then the age", async (store) => {
  await limitProject(store, "shop", 1);
  const high = { priority: "high" as const };
  for (const n of range(0, 6)) await accept(store, n, { ...SHOP, ...n > 3 ? { task: high } : {} });
  const order: number[] = [];
  for (const _ of range(0, 6)) {
    const [next = -1] = await claim(store);
    order.push(next);
    if (next === 5) await accept(store, 6, { ...SHOP, task: high });
    await finish(store, next);
  }
  deepEqual(order, [4, 5, 6, 0, 1, 2]);
});

eachStore("a limit holds from when it is applied: raised, lowered, removed", async (store) => {
  for (const n of range(0, 9)) await accept(store, n, SHOP);
  deepEqual(await claim(store, 3), [0, 1, 2]);
  await limitProject(store, "shop", 2);
  deepEqual(await claim(store), [], "more run than may");
  await finish(store, 0);
  deepEqual(await claim(store), []);
  await finish(store, 1);
  deepEqual(await claim(store), [3]);
  await limitProject(store, "shop", 3);
  deepEqual(await claim(store), [4]);
  await limitProject(store, "shop", 1);
  for (const n of [2, 3]) await finish(store, n);
  deepEqual(await claim(store), []);
  await limitProject(store, "shop");
  deepEqual(await store.listProjectRooms(), []);
  deepEqual(await claim(store, 2), [5, 6]);
  await limitProject(store, "shop", 1);
  deepEqual(await claim(store), []);
  const key = { kind: "Project", project: "", name: "shop" };
  await store.changeResources([{ op: "delete", key }]);
  deepEqual(await claim(store), [7, 8], "the project was deleted, its tasks go on");
});

/** Lets the first step of a running task wait for a time. */
async function waitUntil(store: Store, n: number, dueAt: number, hasOwnFiles = false) {
  await store.openWait({
    taskId: taskIdOf(n),
    position: 0,
    round: 1,
    project: "shop",
    parts: [{ kind: "time", dueAt, isRelative: false }],
    now: T0,
  });
  await store.parkTask(taskIdOf(n), { steps: [], until: dueAt, now: T0, waits: [0], hasOwnFiles });
}

for (const hasOwnFiles of [false, true]) {
  eachStore(
    `a task that waits gives its room back, and takes it when it goes on: ${hasOwnFiles}`,
    async (store) => {
      await limitProject(store, "shop", 1);
      for (const n of [0, 1, 2]) await accept(store, n, { ...SHOP, task: { workspaceMax: 9 } });
      deepEqual((await claimAt(store, T0)).tasks, [0]);
      await waitUntil(store, 0, T0 + SEC, hasOwnFiles);
      deepEqual((await claimAt(store, T0)).tasks, [1]);
      deepEqual((await claimAt(store, T0 + HOUR)).tasks, [], "its time has come, and 1 runs");
      await finish(store, 1);
      deepEqual((await claimAt(store, T0 + HOUR)).tasks, [0], "before 2, which came later");
    },
  );
}

eachStore("a task that waits for room in its project keeps that in its group", async (store) => {
  await limitProject(store, "shop", 1);
  await accept(store, 0, SHOP);
  for (const n of [1, 2]) await accept(store, n, { ...SHOP, ...grouped("Queue") });
  await accept(store, 3, { ...SHOP, trigger: "other" });
  deepEqual(await claim(store), [0]);
  await finish(store, 0);
  deepEqual(await claim(store), [1]);
  await store.cancelTask(taskIdOf(1), { reason: "no", now: 1 });
  deepEqual(await claim(store), [], "it is being stopped, and runs until then");
  await finish(store, 1);
  deepEqual(await claim(store), [2]);
});

eachStore("a retry needs room, and one that ends twice gives it back once", async (store) => {
  await limitProject(store, "shop", 1);
  for (const n of [0, 1]) await accept(store, n, SHOP);
  deepEqual(await claim(store), [0]);
  await store.finishTask({ taskId: taskIdOf(0), state: "failed", reason: "", now: 1 });
  const retry = {
    by: { called: "ada" },
    kept: [],
    keepDirectory: false,
    staysOnNode: false,
    now: 1,
  };
  await store.retryTask({ ...retry, id: taskIdOf(2), of: taskIdOf(0) });
  deepEqual(await claim(store), [1]);
  equal(await finish(store, 0), false);
  deepEqual(await claim(store), []);
  await finish(store, 1);
  deepEqual(await claim(store), [2]);
});

eachStore("tasks without room are counted as queued", async (store) => {
  await limitProject(store, "shop", 1);
  for (const n of [1, 2, 3]) await accept(store, n, { ...SHOP, receivedAt: n });
  for (const n of [4, 5]) await accept(store, n, { receivedAt: n, task: { priority: "low" } });
  const before = await store.counts();
  deepEqual([before.pending, before.queued, before.oldestReadyAt], [5, 0, 1]);
  deepEqual(await claim(store, 1), [1]);
  const { pending, queued, running, oldestPendingAt, oldestReadyAt, oldestLowAt } = await store
    .counts();
  deepEqual([pending, queued, running], [4, 2, 1]);
  deepEqual([oldestPendingAt, oldestReadyAt, oldestLowAt], [2, 4, 4]);
});

eachStore("whatever happens when, no project is over its limit, and all end", async (store) => {
  let seed = 11;
  const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
  const max = new Map([["shop", 2], ["farm", 3]]);
  for (const [name, limit] of max) await limitProject(store, name, limit);
  const projects = ["shop", "farm", "free"];
  const projectOf = (n: number) => projects[n % 3] ?? "";
  const running = new Set<number>();
  const waiting = new Set<number>();
  const ended = new Set<number>();
  const stop = async (n: number) => {
    running.delete(n);
    switch (random(4)) {
      case 0:
        return await store.requeueTask(taskIdOf(n), { now: 5 });
      case 1:
        waiting.add(n);
        return await waitUntil(store, n, T0 + SEC, random(2) === 0);
      default:
        ended.add(n);
        await finish(store, n);
    }
  };
  const check = (at: string) => {
    for (const [name, limit] of max) {
      const open = [...running].filter((n) => projectOf(n) === name).length;
      ok(open <= limit, `${open} of ${limit} of ${name} run ${at}`);
    }
  };
  const take = async (limit: number, now: number) => {
    const { tasks } = await claimAt(store, now, limit);
    for (const n of tasks) {
      ok(!running.has(n) && !ended.has(n), `${n} is handed out once`);
      waiting.delete(n);
      running.add(n);
    }
    return tasks.length;
  };
  const total = 150;
  for (let n = 0; n < total; n++) {
    await accept(store, n, { project: projectOf(n), task: random(2) ? { workspaceMax: 4 } : {} });
    // those that wait are woken by a claim at a later time
    await take(random(5), random(3) === 0 ? T0 + HOUR : T0);
    check(`at ${n}`);
    for (const one of [...running].filter(() => random(3) === 0)) await stop(one);
    if (random(20) === 0) { // lowered only as far as is free, for the check above
      const open = [...running].filter((one) => projectOf(one) === "shop").length;
      max.set("shop", Math.max(1 + random(4), open));
      await limitProject(store, "shop", max.get("shop"));
    }
  }
  while (ended.size < total) {
    const before = ended.size;
    await take(99, T0 + HOUR);
    check("in the end");
    for (const one of [...running]) {
      running.delete(one);
      ended.add(one);
      await finish(store, one);
    }
    ok(ended.size > before, "none starves");
  }
});
