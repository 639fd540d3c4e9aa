/**
 * Tasks: claimed once, ended once, and taken up again after an interruption.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import type { Claim } from "../../../src/store/task_records.ts";
import { accept, countsOf, PLAN, step, taskIdOf } from "../../helpers/store_records.ts";
import { eachStore, range } from "./each_store.ts";

const taskIds = ({ tasks }: Claim) => tasks.map(({ task }) => task.id);

eachStore("claimTasks hands each task out once, oldest first", async (store) => {
  for (const n of [3, 1, 2, 0, 4, 6, 5]) await accept(store, n);
  deepEqual(taskIds(await store.claimTasks(0, 1)), []);
  const claims = await Promise.all([1, 3, 2, 5, 1].map((limit) => store.claimTasks(limit, 50)));
  deepEqual(claims.map(taskIds), [[0], [1, 2, 3], [4, 5], [6], []].map((ns) => ns.map(taskIdOf)));
  const [first] = claims[0]?.tasks ?? [];
  equal(first?.task.state, "running");
  equal(first?.task.startedAt, 50);
  equal(first?.plan, PLAN.json);
  deepEqual(await countsOf(store), { pending: 0, running: 7 });
});

eachStore(
  "a task that misses something is failed from the start and never claimed",
  async (store) => {
    await accept(store, 1, { plan: undefined });
    const [task] = await store.listTasks({ limit: 1 });
    equal(task?.state, "failed");
    equal(task?.reason, 'missing: Workflow "ci"');
    equal(task?.finishedAt, task?.createdAt);
    deepEqual(task?.steps, []);
    deepEqual(await store.claimTasks(9, 1), { tasks: [] });
  },
);

eachStore("finishTask ends a running task once, and no other", async (store) => {
  await accept(store, 1);
  const end = (state: "succeeded" | "failed" | "cancelled") =>
    store.finishTask({ taskId: taskIdOf(1), state, reason: state, now: 90 });
  equal(await end("succeeded"), false, "pending");
  await store.claimTasks(1, 5);
  deepEqual(await Promise.all([end("failed"), end("succeeded"), end("cancelled")]), [
    true,
    false,
    false,
  ]);
  await store.requeueTask(taskIdOf(1), { now: 5 });
  const [task] = await store.listTasks({ limit: 1 });
  deepEqual([task?.state, task?.reason, task?.finishedAt], ["failed", "failed", 90]);
  equal(await store.finishTask({ taskId: "none", state: "failed", reason: "", now: 1 }), false);
  deepEqual(await countsOf(store), { pending: 0, running: 0 });
});

eachStore(
  "a round begins with all its records at once, which an ended task skips",
  async (store) => {
    await accept(store, 1);
    await store.claimTasks(1, 5);
    await store.saveStep(taskIdOf(1), {
      ...step(1, "succeeded"),
      outputs: { n: "1" },
      finishedAt: 6,
    });
    const block = { ...step(0, "waiting"), reason: "round 2 of 3", startedAt: 5, round: 2 };
    const inner = { ...step(1, "pending"), round: 2, outputs: { n: "1" } };
    await store.beginRound(taskIdOf(1), [block, inner]);
    const steps = async () => (await store.findTasks(taskIdOf(1)))[0]?.steps;
    deepEqual(await steps(), [block, inner]);
    const end = { taskId: taskIdOf(1), state: "failed", reason: "", now: 9 } as const;
    await store.finishTask({ ...end, steps: [{ ...block, state: "failed", finishedAt: 9 }] });
    deepEqual((await steps())?.map(({ state, round }) => [state, round]), [["failed", 2], [
      "skipped",
      2,
    ]]);
  },
);

eachStore(
  "steps without a record wait while the task is open, and are skipped once it ended",
  async (store) => {
    await accept(store, 1);
    await store.claimTasks(1, 5);
    await store.saveStep(taskIdOf(1), { ...step(0, "running"), processGroup: 4711 });
    const states = async () => (await store.findTasks(taskIdOf(1)))[0]?.steps.map((s) => s.state);
    deepEqual(await states(), ["running", "pending"]);
    const network = [
      { host: "a.example:443", requests: 2, refused: 0, sentBytes: 10, receivedBytes: 20 },
      { host: "https://b", requests: 1, refused: 1, sentBytes: 1, receivedBytes: 2, tokensIn: 3 },
    ];
    await store.saveStep(taskIdOf(1), {
      ...step(0, "failed"),
      exitCode: 3,
      reason: "exit code 3",
      failure: "limit",
      network,
    });
    await store.finishTask({ taskId: taskIdOf(1), state: "failed", reason: "", now: 9 });
    deepEqual((await store.findTasks(taskIdOf(1)))[0]?.steps, [
      {
        position: 0,
        id: "build",
        state: "failed",
        reason: "exit code 3",
        exitCode: 3,
        failure: "limit",
        network,
        startedAt: 1,
        finishedAt: 2,
      },
      { position: 1, id: "deploy", state: "skipped", reason: "" },
    ]);
  },
);

eachStore(
  "requeueTask puts a task back with its finished steps and its first start",
  async (store) => {
    await accept(store, 1);
    await accept(store, 2);
    await store.claimTasks(1, 50);
    await store.saveStep(taskIdOf(1), step(0, "succeeded"));
    await store.requeueTask(taskIdOf(1), { now: 5 });
    await store.requeueTask(taskIdOf(2), { now: 5, steps: [step(0, "failed")] });
    deepEqual(await countsOf(store), { pending: 2, running: 0 });
    const { tasks: [again] } = await store.claimTasks(1, 80);
    equal(again?.task.id, taskIdOf(1), "its turn is that of its age");
    equal(again?.task.startedAt, 50);
    equal(again?.task.restarts, 0);
    deepEqual(again?.task.steps.map(({ state }) => state), ["succeeded", "pending"]);
    await store.requeueTask(taskIdOf(1), {
      now: 5,
      steps: [step(0, "failed"), step(1, "succeeded")],
    });
    await store.requeueTask(taskIdOf(1), { now: 5, steps: [step(1, "failed")] });
    const { tasks } = await store.claimTasks(2, 90);
    deepEqual(
      tasks.map(({ task }) => task.steps.map(({ state }) => state)),
      [["failed", "succeeded"], ["pending", "pending"]],
      "with what its worker knows of steps, as long as it runs",
    );
  },
);

eachStore("claimInterrupted takes over what ran before a restart", async (first, { restart }) => {
  for (const n of [1, 2, 3]) await accept(first, n);
  await first.claimTasks(2, 5);
  await first.saveStep(taskIdOf(1), { ...step(0, "running"), processGroup: 4711 });
  deepEqual(await first.claimInterrupted(), [], "what it runs itself is not interrupted");
  const again = await restart();
  const interrupted = await again.claimInterrupted();
  deepEqual(
    interrupted.map(({ task }) => [task.id, task.restarts]),
    [1, 2].map((n) => [taskIdOf(n), 1]),
  );
  equal(interrupted[0]?.task.steps[0]?.processGroup, 4711);
  deepEqual(await again.claimInterrupted(), [], "once");
  const tasks = await again.listTasks({ limit: 9 });
  deepEqual(tasks.map(({ restarts }) => restarts), [0, 1, 1]);
});

eachStore("tasks of one plan share it, and each of another has its own", async (store) => {
  await Promise.all(range(0, 50).map((n) => accept(store, n)));
  const json = '{"steps":[{"id":"only"}]}';
  await accept(store, 60, { plan: { hash: "h2", json } });
  await accept(store, 61, { plan: undefined });
  deepEqual((await store.findTasks(taskIdOf(60)))[0]?.steps.map(({ id }) => id), ["only"]);
  const plans = await Promise.all([0, 49, 60, 61].map((n) => store.findPlan(taskIdOf(n))));
  deepEqual(plans, [PLAN.json, PLAN.json, json, undefined]);
});

eachStore("a store that is opened again has all that was in it", async (first, { restart }) => {
  for (const n of [1, 2, 3]) await accept(first, n);
  await first.claimTasks(2, 5);
  await first.saveStep(taskIdOf(1), step(0, "succeeded"));
  await first.finishTask({ taskId: taskIdOf(2), state: "failed", reason: "why", now: 8 });
  const again = await restart();
  deepEqual(
    (await again.listTasks({ limit: 9 })).map(({ state, reason }) => [state, reason]),
    [["pending", ""], ["failed", "why"], ["running", ""]],
  );
  deepEqual((await again.claimInterrupted()).map(({ task }) => task.steps[0]?.state), [
    "succeeded",
  ]);
});

eachStore("counts tells who is ready from who is queued or delayed", async (store) => {
  deepEqual(await store.counts(), { pending: 0, queued: 0, delayed: 0, waiting: 0, running: 0 });
  await accept(store, 1, { task: { debounce: { key: "", forMs: 1000 } }, trigger: "slow" });
  await accept(store, 2);
  await accept(store, 3);
  const [one, two] = [1_700_000_000_001, 1_700_000_000_002];
  const alone = { concurrency: { policy: "Queue", key: "", max: 1 } } as const;
  for (const n of [4, 5, 6]) await accept(store, n, { task: alone, trigger: "one" });
  const unready = { queued: 2, delayed: 1, waiting: 0, oldestPendingAt: one };
  deepEqual(await store.counts(), { ...unready, pending: 6, running: 0, oldestReadyAt: two });
  await store.claimTasks(1, two + 5);
  deepEqual(await store.counts(), { ...unready, pending: 5, running: 1, oldestReadyAt: two + 1 });
});

eachStore("unused space can be asked for and given back", async (store) => {
  const before = await store.databaseSize();
  ok(before.bytes > 0 && before.unusedBytes >= 0 && before.unusedBytes <= before.bytes);
  const after = await store.reclaimSpace({ maxBytes: 40_960 });
  ok(after.unusedBytes <= before.unusedBytes);
});
