/**
 * Room in a workspace (`maxParallel`), beside that in a group.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { accept, taskIdOf } from "../../helpers/store_records.ts";
import { eachStore, numberOf, range } from "./each_store.ts";
import { claim, finish, grouped, inState } from "./grouped_tasks.ts";

eachStore("maxParallel holds over the triggers of a workspace", async (store) => {
  const limited = { workspaceMax: 2 };
  await Promise.all(
    range(0, 6).map((n) => accept(store, n, { trigger: `t${n}`, task: limited })),
  );
  await accept(store, 6, { task: { ...limited, workspace: "elsewhere" } });
  await accept(store, 7, { project: "other", task: limited });
  deepEqual(await claim(store), [0, 1, 6, 7]);
  await finish(store, 6);
  deepEqual(await claim(store), [], "another workspace");
  await finish(store, 0);
  deepEqual(await claim(store), [2]);
  await store.cancelTask(taskIdOf(3), { reason: "no", now: 1 });
  await Promise.all([finish(store, 1), finish(store, 2)]);
  deepEqual(await claim(store), [4, 5]);
});

eachStore("a claim finds the room of a task whose end was asked for before", async (store) => {
  for (const n of [0, 1]) await accept(store, n, { task: { workspaceMax: 1 } });
  deepEqual(await claim(store), [0]);
  const [, claimed] = await Promise.all([finish(store, 0), claim(store)]);
  deepEqual(claimed, [1]);
});

eachStore("a task has to have room in its group and in its workspace", async (store) => {
  const queued = (n: number, key: string) =>
    accept(store, n, {
      task: { concurrency: { policy: "Queue", key, max: 1 }, workspaceMax: 2 },
    });
  for (const [n, key] of ["a", "a", "b", "c", "c", "b"].entries()) await queued(n, key);
  deepEqual(await claim(store), [0, 2], "1 waits for 0, 3 for room");
  await finish(store, 2);
  deepEqual(await claim(store), [3], "before 5, which came later");
  await finish(store, 0);
  deepEqual(await claim(store), [1], "the oldest that has room in its group");
  await Promise.all([finish(store, 1), finish(store, 3)]);
  deepEqual(await claim(store), [4, 5]);
});

eachStore("whatever ends when, no group and no workspace is ever over its limit", async (store) => {
  let seed = 7;
  const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
  const running = new Map<number, string>();
  const policies = ["Queue", "Replace", "Forbid"] as const;
  const started: number[] = [];
  for (let n = 0; n < 600; n++) {
    const key = String(random(3));
    const policy = policies[Number(key)] ?? "Queue";
    const outcome = await accept(store, n, {
      trigger: policy,
      task: { concurrency: { policy, key, max: 2 }, ...(key === "1" ? {} : { workspaceMax: 3 }) },
    });
    for (const id of outcome?.replaces ?? []) {
      ok(running.delete(numberOf(id)), "it ran");
      await store.finishTask({ taskId: id, state: "cancelled", reason: "", now: 1 });
    }
    const { tasks } = await store.claimTasks(random(4), 1);
    for (const { task } of tasks) running.set(numberOf(task.id), task.trigger);
    started.push(...tasks.map(({ task }) => numberOf(task.id)));
    const of = (trigger: string) => [...running.values()].filter((one) => one === trigger).length;
    ok(policies.every((one) => of(one) <= 2), `at ${n}`);
    ok(of("Queue") + of("Forbid") <= 3, `at ${n}`);
    const ended = [...running.keys()].filter(() => random(3) === 0);
    for (const one of ended) running.delete(one);
    await Promise.all(ended.map((one) => finish(store, one)));
  }
  equal(new Set(started).size, started.length, "none was handed out twice");
  for (;;) {
    await Promise.all([...running.keys()].map((one) => finish(store, one)));
    running.clear();
    const more = await claim(store);
    started.push(...more);
    for (const one of more) running.set(one, "");
    if (more.length === 0) break;
  }
  deepEqual(await store.counts().then(({ pending, running: n }) => [pending, n]), [0, 0]);
  const cancelled = (await inState(store, "cancelled")).filter((n) => !started.includes(n));
  equal((await store.listTasks({ limit: 9999 })).length, started.length + cancelled.length);
});

eachStore("a restart in the middle keeps who runs and who waits", async (first, { restart }) => {
  await Promise.all([
    ...range(0, 4).map((n) => accept(first, n, grouped("Queue"))),
    ...range(10, 14).map((n) => accept(first, n, { ...grouped("Replace"), trigger: "replace" })),
    ...range(20, 24).map((n) => accept(first, n, { ...grouped("Forbid"), trigger: "forbid" })),
    ...range(30, 33).map((n) => accept(first, n, { trigger: "ws", task: { workspaceMax: 1 } })),
  ]);
  deepEqual(await claim(first), [0, 13, 20, 30]);
  await accept(first, 14, { ...grouped("Replace"), trigger: "replace" });
  const again = await restart();
  const interrupted = await again.claimInterrupted();
  deepEqual(interrupted.map(({ task }) => [numberOf(task.id), task.cancelReason]), [
    [0, ""],
    [13, `replaced by task ${taskIdOf(14)}`],
    [20, ""],
    [30, ""],
  ]);
  await Promise.all(interrupted.map(({ task }) => again.requeueTask(task.id, { now: 5 })));
  equal((await accept(again, 40, { ...grouped("Forbid"), trigger: "forbid" }))?.outcome, "skipped");
  deepEqual(await claim(again), [0, 13, 20, 30], "the same go on, nobody else has room");
  await Promise.all([0, 20, 30].map((n) => finish(again, n)));
  await again.finishTask({ taskId: taskIdOf(13), state: "cancelled", reason: "", now: 1 });
  deepEqual(await claim(again), [1, 14, 31]);
});
