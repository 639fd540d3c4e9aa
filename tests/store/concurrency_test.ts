/**
 * Room for tasks (`concurrency` and `maxParallel`), decided where they are stored: however
 * many come at once, and in whatever order they end, a group is never over its limit.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import type { EventOutcome } from "../../src/store/delivery_records.ts";
import type { Store } from "../../src/store/store.ts";
import type { NewTask, Task, TaskConcurrency } from "../../src/store/task_records.ts";
import { openStore } from "../../src/store/sqlite/open_store.ts";
import { accept, PLAN, rowsOf, taskIdOf, type TempStore, tempStore } from "./temp_store.ts";

function test(name: string, body: (store: Store, temp: TempStore) => Promise<void>): void {
  Deno.test(name, async () => {
    await using temp = await tempStore();
    await body(temp.store, temp);
  });
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

const grouped = (
  policy: TaskConcurrency["policy"],
  { max = 1, key = "" }: { max?: number; key?: string } = {},
): { task: Partial<NewTask> } => ({ task: { concurrency: { policy, key, max } } });

const outcomesOf = (outcomes: readonly (EventOutcome | undefined)[]) =>
  Object.fromEntries(
    Object.entries(Object.groupBy(outcomes, (one) => one?.outcome ?? ""))
      .map(([outcome, some]) => [outcome, some?.length]),
  );

/** Claims all that may run now; gives the numbers of the tasks. */
async function claim(store: Store, limit = 999): Promise<number[]> {
  const { tasks } = await store.claimTasks(limit, 1);
  return tasks.map(({ task }) => numberOf(task.id));
}

const numberOf = (id: string) => Number(id.slice(-6));

const finish = (store: Store, n: number) =>
  store.finishTask({ taskId: taskIdOf(n), state: "succeeded", reason: "", now: 9 });

async function inState(store: Store, state: Task["state"]): Promise<number[]> {
  return (await store.listTasks({ state, limit: 9999 })).map(({ id }) => numberOf(id)).toReversed();
}

for (const max of [1, 3]) {
  test(`Forbid, max ${max}: of 200 deliveries at once exactly ${max} start`, async (store) => {
    const outcomes = await Promise.all(
      range(0, 200).map((n) => accept(store, n, grouped("Forbid", { max }))),
    );
    deepEqual(outcomesOf(outcomes), { accepted: max, skipped: 200 - max });
    deepEqual(await claim(store), range(0, max));
    equal((await store.listTasks({ limit: 999 })).length, max);
    equal((await store.listDeliveries({ limit: 999 })).length, 200, "each has its record");
  });
}

test("Forbid says which task is in the way, and starts again when that has ended", async (store) => {
  await accept(store, 1, grouped("Forbid"));
  const reason = `concurrency: task ${taskIdOf(1)} is not over`;
  deepEqual(await accept(store, 2, grouped("Forbid")), { outcome: "skipped", reason });
  await claim(store);
  equal((await accept(store, 3, grouped("Forbid")))?.outcome, "skipped", "while it runs");
  await store.requeueTask(taskIdOf(1));
  equal((await accept(store, 4, grouped("Forbid")))?.outcome, "skipped", "interrupted");
  await claim(store);
  await finish(store, 1);
  equal((await accept(store, 5, grouped("Forbid")))?.outcome, "accepted");
  deepEqual(await claim(store), [5]);
});

test("a group is that of one project, trigger and key", async (store) => {
  const outcomes = await Promise.all([
    accept(store, 1, grouped("Forbid", { key: "a" })),
    accept(store, 2, grouped("Forbid", { key: "b" })),
    accept(store, 3, { ...grouped("Forbid", { key: "a" }), trigger: "other" }),
    accept(store, 4, { ...grouped("Forbid", { key: "a" }), project: "other" }),
    accept(store, 5, grouped("Forbid", { key: "" })),
    accept(store, 6, {}),
  ]);
  deepEqual(outcomesOf(outcomes), { accepted: 6 });
  const more = range(11, 16).map((n) => accept(store, n, grouped("Forbid", { key: "a" })));
  deepEqual(outcomesOf(await Promise.all(more)), { skipped: 5 });
  deepEqual(await claim(store), [1, 2, 3, 4, 5, 6]);
});

test("Queue runs one after the other, in order", async (store) => {
  await Promise.all(range(0, 50).map((n) => accept(store, n, grouped("Queue"))));
  const order: number[] = [];
  for (let running = await claim(store); running.length > 0; running = await claim(store)) {
    equal(running.length, 1);
    order.push(...running);
    deepEqual(await claim(store), [], "no other while it runs");
    await Promise.all(running.map((n) => finish(store, n)));
  }
  deepEqual(order, range(0, 50));
});

test("Queue, max 2: two at a time, the oldest first", async (store) => {
  await Promise.all(range(0, 6).map((n) => accept(store, n, grouped("Queue", { max: 2 }))));
  deepEqual(await claim(store), [0, 1]);
  await finish(store, 1);
  deepEqual(await claim(store), [2]);
  await Promise.all([finish(store, 0), finish(store, 2)]);
  deepEqual(await claim(store), [3, 4]);
  await store.cancelTask(taskIdOf(5), { reason: "no", now: 1 });
  await Promise.all([finish(store, 3), finish(store, 4)]);
  deepEqual(await claim(store), []);
});

test("a queue lets in more as soon as its trigger allows more", async (store) => {
  await Promise.all(range(0, 5).map((n) => accept(store, n, grouped("Queue"))));
  deepEqual(await claim(store), [0]);
  await accept(store, 5, grouped("Queue", { max: 3 }));
  deepEqual(await claim(store), [1, 2], "in their order");
  await finish(store, 0);
  deepEqual(await claim(store), [3]);
});

test("Replace cancels what waits at once, and names what runs to be ended", async (store) => {
  await accept(store, 1, grouped("Replace"));
  const second = await accept(store, 2, grouped("Replace"));
  deepEqual(second, { outcome: "accepted", reason: "", taskId: taskIdOf(2) });
  const [first] = await store.findTasks(taskIdOf(1));
  deepEqual([first?.state, first?.reason], ["cancelled", `replaced by task ${taskIdOf(2)}`]);
  deepEqual(await claim(store), [2]);
  const third = await accept(store, 3, grouped("Replace"));
  deepEqual(third?.replaces, [taskIdOf(2)]);
  deepEqual(await claim(store), [], "until the old one is gone");
  const fourth = await accept(store, 4, grouped("Replace"));
  equal(fourth?.replaces, undefined, "the running one has been told");
  deepEqual(await inState(store, "cancelled"), [1, 3]);
  await store.finishTask({ taskId: taskIdOf(2), state: "cancelled", reason: "", now: 9 });
  const [replaced] = await store.findTasks(taskIdOf(2));
  equal(replaced?.reason, `replaced by task ${taskIdOf(3)}`, "the first to replace it");
  deepEqual(await claim(store), [4]);
});

test("Replace under 200 deliveries at once, key by key: one is left of each", async (store) => {
  const key = (n: number) => String(n % 4);
  const outcomes = await Promise.all(
    range(0, 200).map((n) => accept(store, n, grouped("Replace", { key: key(n) }))),
  );
  deepEqual(outcomesOf(outcomes), { accepted: 200 });
  deepEqual(await claim(store), [196, 197, 198, 199]);
  deepEqual(await inState(store, "cancelled"), range(0, 196));
});

test("Replace, max 2: the oldest make room", async (store) => {
  for (const n of range(0, 4)) await accept(store, n, grouped("Replace", { max: 2 }));
  deepEqual(await inState(store, "cancelled"), [0, 1]);
  deepEqual(await claim(store), [2, 3]);
  deepEqual((await accept(store, 4, grouped("Replace", { max: 2 })))?.replaces, [taskIdOf(2)]);
});

test("a task that misses something replaces nothing and takes no room", async (store) => {
  await accept(store, 1, grouped("Replace"));
  await accept(store, 2, { ...grouped("Replace"), plan: undefined });
  deepEqual(await claim(store), [1]);
  deepEqual(await inState(store, "failed"), [2]);
  await accept(store, 3, { ...grouped("Queue", { key: "q" }), plan: undefined });
  await accept(store, 4, grouped("Queue", { key: "q" }));
  deepEqual(await claim(store), [4]);
});

test("maxParallel holds over the triggers of a workspace", async (store) => {
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

test("a task has to have room in its group and in its workspace", async (store) => {
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

test("whatever ends when, no group and no workspace is ever over its limit", async (store) => {
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

test("a restart in the middle keeps who runs and who waits", async (store, { dir }) => {
  const path = `${dir}/other.db`;
  const first = await openStore(path);
  await Promise.all([
    ...range(0, 4).map((n) => accept(first, n, grouped("Queue"))),
    ...range(10, 14).map((n) => accept(first, n, { ...grouped("Replace"), trigger: "replace" })),
    ...range(20, 24).map((n) => accept(first, n, { ...grouped("Forbid"), trigger: "forbid" })),
    ...range(30, 33).map((n) => accept(first, n, { trigger: "ws", task: { workspaceMax: 1 } })),
  ]);
  deepEqual(await claim(first), [0, 13, 20, 30]);
  await accept(first, 14, { ...grouped("Replace"), trigger: "replace" });
  await first[Symbol.asyncDispose]();
  await using again = await openStore(path);
  const interrupted = await again.claimInterrupted();
  deepEqual(interrupted.map(({ task }) => [numberOf(task.id), task.cancelReason]), [
    [0, ""],
    [13, `replaced by task ${taskIdOf(14)}`],
    [20, ""],
    [30, ""],
  ]);
  await Promise.all(interrupted.map(({ task }) => again.requeueTask(task.id)));
  equal((await accept(again, 40, { ...grouped("Forbid"), trigger: "forbid" }))?.outcome, "skipped");
  deepEqual(await claim(again), [0, 13, 20, 30], "the same go on, nobody else has room");
  await Promise.all([0, 20, 30].map((n) => finish(again, n)));
  await again.finishTask({ taskId: taskIdOf(13), state: "cancelled", reason: "", now: 1 });
  deepEqual(await claim(again), [1, 14, 31]);
  equal((await store.counts()).pending, 0);
});

test("cancelTask: what waits ends at once, what runs is marked, what ended stays", async (store) => {
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
});

test("a task that was interrupted is cancelled by way of the worker: it has steps to end", async (store) => {
  await accept(store, 1);
  await claim(store);
  await store.requeueTask(taskIdOf(1));
  equal(await store.cancelTask(taskIdOf(1), { reason: "by hand", now: 7 }), "stopping");
  const { tasks: [claimed] } = await store.claimTasks(1, 8);
  equal(claimed?.task.cancelReason, "by hand");
});

test("finishTask notes the ends that triggers follow, until they have been looked at", async (store) => {
  for (const n of [1, 2, 3]) await accept(store, n);
  await claim(store);
  const end = { state: "failed", reason: "", now: 9 } as const;
  await store.finishTask({ ...end, taskId: taskIdOf(3), followed: true });
  await store.finishTask({ ...end, taskId: taskIdOf(2) });
  await store.finishTask({ ...end, taskId: taskIdOf(1), followed: true });
  equal(await store.finishTask({ ...end, taskId: taskIdOf(1), followed: true }), false);
  await accept(store, 4, { plan: undefined, task: { followed: true } });
  const ends = async (limit = 9) => (await store.listTaskEnds(limit)).map(({ id }) => numberOf(id));
  deepEqual(await ends(), [1, 3, 4]);
  deepEqual(await ends(1), [1]);
  await store.forgetTaskEnd(taskIdOf(1));
  await store.forgetTaskEnd(taskIdOf(1));
  deepEqual(await ends(), [3, 4]);
});

test("a plan lives as long as tasks have it", async (store, { path }) => {
  await accept(store, 1);
  await accept(store, 2, { plan: { hash: "h2", json: '{"steps":[]}' } });
  await store.retryTask({
    id: taskIdOf(5),
    of: await endedTask(store, 1),
    kept: [],
    keepDirectory: false,
    now: 5,
  });
  const uses = () =>
    rowsOf(path, "SELECT hash, tasks FROM plan_uses ORDER BY hash").map((row) =>
      Object.values(row)
    );
  deepEqual(uses(), [[PLAN.hash, 2], ["h2", 1]]);
  equal(rowsOf(path, "SELECT * FROM plans").length, 2);
});

async function endedTask(store: Store, n: number): Promise<string> {
  await store.cancelTask(taskIdOf(n), { reason: "", now: 1 });
  return taskIdOf(n);
}
