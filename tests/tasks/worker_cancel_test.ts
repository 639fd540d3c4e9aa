/**
 * What ends tasks before their time, and what holds them up: cancelling, replacing, waiting for
 * room and for a time. Each ends once, and with no process left.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import type { NewTask, Task } from "../../src/store/task_records.ts";
import { processRuns, until, untilFile } from "../helpers/until.ts";
import { accept, taskIdOf } from "../helpers/store_records.ts";
import { within } from "../helpers/within.ts";
import { claimAndCrash, type Rig, testWithRig as test } from "../rigs/worker_rig.ts";

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

/** A step that says who it is and sleeps, with a child that wants to live on. */
const SLEEPS = `{steps: [{id: a, run: 'echo $$ > pid-$SVC_TASK_ID; sleep 60 & wait'}]}`;

const isRunning = (rig: Rig, id: string) => untilFile(`${rig.workspace}/pid-${id}`).then(Number);

async function read(rig: Rig, id: string): Promise<Task> {
  const [task] = await rig.store.findTasks(id);
  ok(task);
  return task;
}

test("end: a running task is cancelled once its processes are gone", async (rig) => {
  const ended: Task[] = [];
  rig.events.on("taskEnded", ({ task }) => void ended.push(task));
  const worker = await rig.start(2);
  const id = await rig.queue(1, SLEEPS);
  worker.kick();
  const pid = await isRunning(rig, id);
  equal(await worker.end(await read(rig, id), "cancelled by hand"), "stopping");
  const task = await rig.ended(id);
  deepEqual([task.state, task.reason], ["cancelled", "cancelled by hand"]);
  equal(await processRuns(pid), false);
  equal(task.steps[0]?.state, "cancelled");
  await until("the event", () => ended.length > 0 || undefined);
  deepEqual(ended.map(({ id, state }) => [id, state]), [[id, "cancelled"]], "once");
  equal(await worker.end(task, "again"), "ended");
});

test("end: a task that waits never starts, and the next one has its room", async (rig) => {
  const queue: Partial<NewTask> = { concurrency: { policy: "Queue", key: "", max: 1 } };
  const ended: Task[] = [];
  rig.events.on("taskEnded", ({ task }) => void ended.push(task));
  const worker = await rig.start(4, {}, {
    isFollowed: ({ project, workflow }) => project === "default" && workflow === "ci",
  });
  const [first, second] = [
    await rig.queue(1, SLEEPS, "{}", queue),
    await rig.queue(2, SLEEPS, "{}", queue),
  ];
  const third = await rig.queue(3, "{steps: [{id: a, run: 'true'}]}", "{}", queue);
  worker.kick();
  await isRunning(rig, first);
  equal(await worker.end(await read(rig, second), "not wanted"), "cancelled");
  deepEqual((await rig.store.listTaskEnds(9)).map(({ id }) => id), [second]);
  equal((await read(rig, third)).state, "pending");
  equal(await worker.end(await read(rig, first), "make room"), "stopping");
  equal((await rig.ended(third)).state, "succeeded");
  const before = await read(rig, second);
  deepEqual([before.state, before.reason, before.startedAt], [
    "cancelled",
    "not wanted",
    undefined,
  ]);
  await until("all ends", () => ended.length === 3 || undefined);
  deepEqual(ended.map(({ id }) => id), [second, first, third]);
});

test("cancel: a task is ended although it was cancelled while it was being handed over", async (rig) => {
  const id = await rig.queue(1, SLEEPS);
  const answered = Promise.withResolvers<void>();
  const worker = await rig.start(1, {
    async claimTasks(limit, now) {
      const claim = await rig.store.claimTasks(limit, now);
      await answered.promise; // the store has answered, and the worker does not know it yet
      return claim;
    },
  });
  await until(
    "the claim",
    async () => (await read(rig, id)).state === "running" || undefined,
  );
  equal(await worker.end(await read(rig, id), "at once"), "stopping");
  answered.resolve();
  const task = await rig.ended(id);
  deepEqual([task.state, task.reason], ["cancelled", "at once"]);
});

test("cancel: the worker ignores an unknown task", async (rig) => {
  const worker = await rig.start();
  worker.cancel([taskIdOf(1), "no such task"]);
  const id = await rig.queue(1, "{steps: [{id: a, run: 'true'}]}");
  worker.kick();
  equal((await rig.ended(id)).state, "succeeded");
});

test("a cancelled task runs the steps under finally, also after a crash", async (rig) => {
  const workflow =
    "{steps: [{id: a, run: 'echo a >> log; sleep 60'}, {id: b, run: echo b >> log}], " +
    "finally: [{id: z, run: echo z >> log}]}";
  const id = await rig.queue(1, workflow);
  await claimAndCrash(rig);
  const step = {
    position: 0,
    id: "a",
    state: "running",
    reason: "",
    processGroup: 2 ** 22 - 1,
  } as const;
  await rig.store.saveStep(id, step);
  equal(await rig.store.cancelTask(id, { reason: "by hand", now: 5 }), "stopping");
  const left = new Deno.Command("/bin/sh", {
    args: ["-c", "setsid sleep 60 & wait"],
    cwd: rig.workspace,
    env: { SVC_TASK_ID: id },
    detached: true,
  }).spawn();
  await rig.start();
  const task = await rig.ended(id);
  ok((await left.status).code !== 0, "what the old run left is ended");
  deepEqual([task.state, task.reason], ["cancelled", "by hand"]);
  equal(await Deno.readTextFile(`${rig.workspace}/log`), "z\n");
});

test("Replace: of a hundred in a row one runs, the others are cancelled, once each", async (rig) => {
  const ended: Task[] = [];
  rig.events.on("taskEnded", ({ task }) => void ended.push(task));
  const worker = await rig.start(4);
  const concurrency = { policy: "Replace", key: "", max: 1 } as const;
  const plan = await planOf(rig, SLEEPS);
  const accepted = await Promise.all(
    range(1, 101).map(async (n) => {
      const outcome = await accept(rig.store, n, { plan, task: { concurrency } });
      worker.cancel(outcome?.replaces ?? []);
      worker.kick();
      return outcome?.taskId;
    }),
  );
  equal(new Set(accepted).size, 100);
  const last = taskIdOf(100);
  const pid = await isRunning(rig, last);
  const tasks = await rig.store.listTasks({ limit: 999 });
  deepEqual(tasks.filter(({ state }) => state !== "cancelled").map(({ id }) => id), [last]);
  equal(await processRuns(pid), true);
  const started = tasks.filter(({ id, startedAt }) => id !== last && startedAt !== undefined);
  deepEqual(ended.map(({ id }) => id).toSorted(), started.map(({ id }) => id).toSorted());
});

test("Queue: tasks of a group never overlap, even with free workers", async (rig) => {
  const run = "mkdir lock && sleep 0.01 && rmdir lock && echo $SVC_TASK_ID >> log";
  const plan = await planOf(rig, `{steps: [{id: a, run: '${run}'}]}`);
  const concurrency = { policy: "Queue", key: "", max: 1 } as const;
  const worker = await rig.start(8);
  await Promise.all(range(1, 21).map((n) => accept(rig.store, n, { plan, task: { concurrency } })));
  worker.kick();
  const tasks = await Promise.all(range(1, 21).map((n) => rig.ended(taskIdOf(n))));
  deepEqual(tasks.map(({ state }) => state), range(1, 21).map(() => "succeeded"));
  const order = (await Deno.readTextFile(`${rig.workspace}/log`)).trim().split("\n");
  deepEqual(order, range(1, 21).map(taskIdOf));
});

test("Queue: the next task begins when one with an agent has ended, whose turns end first", async (rig) => {
  const plan = await planOf(rig, '{steps: [{id: a, run: "true", env: {agent: a}}]}');
  const concurrency = { policy: "Queue", key: "", max: 1 } as const;
  const slow = async (taskId: string, position?: number) => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    await rig.store.endTurn(taskId, 5, position);
  };
  const worker = await rig.start(8, { endTurn: slow });
  await Promise.all(range(1, 4).map((n) => accept(rig.store, n, { plan, task: { concurrency } })));
  worker.kick();
  const tasks = await Promise.all(range(1, 4).map((n) => rig.ended(taskIdOf(n))));
  deepEqual(tasks.map(({ state }) => state), range(1, 4).map(() => "succeeded"));
});

test("a task whose time comes is run then, without a kick", async (rig) => {
  const now = Date.now();
  const plan = await planOf(rig, "{steps: [{id: a, run: 'true'}]}");
  const task = { debounce: { key: "", forMs: 400 } };
  await accept(rig.store, 1, { plan, receivedAt: now, task });
  await rig.start(); // looks once, and finds that there is nothing to run yet
  const { startedAt = 0, state } = await rig.ended(taskIdOf(1));
  equal(state, "succeeded");
  ok(startedAt >= now + 400 && startedAt < now + 30_000, `${startedAt - now} ms`);
});

test("a clock that is set forward does not delay a task that waits for a time", async (rig) => {
  let offset = 0;
  const clock: Clock = { ...systemClock, now: () => Date.now() + offset };
  const plan = await planOf(rig, "{steps: [{id: a, run: 'true'}]}");
  const receivedAt = clock.now();
  await accept(rig.store, 1, {
    plan,
    receivedAt,
    task: { debounce: { key: "", forMs: 3_600_000 } },
  });
  const worker = await rig.start(1, {}, { clock });
  offset = 24 * 3_600_000;
  worker.kick(); // as the look that comes at least once a minute
  equal((await within(10_000, rig.ended(taskIdOf(1)))).state, "succeeded");
});

test("an end that is stored late holds up neither the next task nor the worker's end", async (rig) => {
  const slow = Promise.withResolvers<void>();
  const worker = await rig.start(1, {
    async finishTask(end) {
      if (end.taskId === taskIdOf(1)) await slow.promise;
      return await rig.store.finishTask(end);
    },
  });
  const first = await rig.queue(1, "{steps: [{id: a, run: 'true'}]}");
  const second = await rig.queue(2, "{steps: [{id: a, run: 'true'}]}");
  worker.kick();
  equal((await rig.ended(second)).state, "succeeded");
  equal((await read(rig, first)).state, "running");
  const over = worker[Symbol.asyncDispose]();
  slow.resolve();
  await within(5000, over);
  equal((await read(rig, first)).state, "succeeded", "it was waited for");
});

/** The plan of this workflow; its task is left to fail. */
async function planOf(rig: Rig, workflow: string): Promise<NonNullable<NewTask["plan"]>> {
  const id = await rig.queue(900, workflow);
  const json = await rig.store.findPlan(id);
  ok(json);
  await rig.store.cancelTask(id, { reason: "only for its plan", now: 1 });
  return { hash: `plan of ${workflow}`, json };
}
