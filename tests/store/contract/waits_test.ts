/**
 * Waits of steps, and tasks that wait in their midst: what wakes them, what they keep, and who is let
 * through where several end one wait.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, ok, strictEqual as equal } from "node:assert/strict";
import { firstIdAt } from "../../../src/base/ids.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Wait, WaitPart } from "../../../src/store/wait_records.ts";
import { accept, countsOf, step, taskIdOf } from "../../helpers/store_records.ts";
import { ask, standing } from "./agent_tasks.ts";
import { eachStore, numberOf, range } from "./each_store.ts";
import { finish, grouped, inState } from "./grouped_tasks.ts";
import { claimAt, HOUR, SEC, T0 } from "./timed_tasks.ts";

/** Opens the wait of a step of task `n`, for an hour if nothing else is said. */
const open = (
  store: Store,
  n: number,
  { now = T0, dueAt = T0 + HOUR, position = 0, isRelative = false } = {},
): Promise<Wait> =>
  store.openWait({
    taskId: taskIdOf(n),
    position,
    round: 1,
    project: "default",
    parts: [{ kind: "time", dueAt, isRelative }],
    now,
  });

const dueAtOf = ({ parts }: Wait) => parts[0]?.dueAt ?? NaN;

/** Parks task `n`, whose worker has seen these waits open. */
const park = (
  store: Store,
  n: number,
  { until = T0 + HOUR, now = T0, waits = [0], hasOwnFiles = true, activeMs = 0 } = {},
) => store.parkTask(taskIdOf(n), { steps: [], until, now, waits, hasOwnFiles, activeMs });

const BY_ADA = { by: "hand", who: "ada", reason: "it is Friday" } as const;
const OVER_BY_ADA = { ...BY_ADA, at: T0 + SEC, part: 0 };

const byHand = (store: Store, n: number, position = 0) =>
  store.endWait({ taskId: taskIdOf(n), position, end: BY_ADA, now: T0 + SEC });

const claim = async (store: Store) => (await claimAt(store, T0)).tasks;

async function running(store: Store, count: number): Promise<void> {
  for (const n of range(1, count + 1)) await accept(store, n);
  await claimAt(store, T0);
}

eachStore("the messages of a wait are stored once, with its opening", async (store) => {
  await running(store, 1);
  const ask = (id: string) =>
    store.openWait({
      taskId: taskIdOf(1),
      position: 0,
      round: 1,
      project: "default",
      parts: [{ kind: "time", dueAt: T0 + HOUR, isRelative: false }],
      messages: [{
        id,
        project: "default",
        connection: "chat",
        kind: "slack-ask",
        target: { channel: "C1" },
        key: "approval",
        body: { text: id },
        taskId: taskIdOf(1),
        now: T0,
      }],
      now: T0,
    });
  const stored = async () => (await store.listMessages({ limit: 10 })).map(({ id }) => id);
  await ask("01M1");
  deepEqual(await stored(), ["01M1"]);
  await ask("01M2"); // its step runs again after a crash
  deepEqual(await stored(), ["01M1"]);
  await byHand(store, 1);
  await ask("01M3");
  deepEqual(await stored(), ["01M1"]);
});

eachStore("a wait is opened once, and its task goes on at its time", async (store) => {
  await running(store, 1);
  const wait = await open(store, 1);
  deepEqual(wait, {
    taskId: taskIdOf(1),
    position: 0,
    round: 1,
    project: "default",
    parts: [{ kind: "time", dueAt: T0 + HOUR, isRelative: false }],
    openedAt: T0,
  });
  deepEqual(await open(store, 1, { now: T0 + SEC, dueAt: T0 + 2 * HOUR }), wait, "again");
  await park(store, 1);
  deepEqual(await inState(store, "waiting"), [1]);
  deepEqual(await standing(store, 1), {
    is: "waiting",
    until: T0 + HOUR,
    wait: { position: 0, kind: "time" },
  });
  deepEqual(await countsOf(store), { pending: 0, running: 0 });
  equal((await store.counts()).waiting, 1);
  equal((await store.countWaits()).time, 1);
  deepEqual([(await store.countWaits("default")).time, (await store.countWaits("no")).time], [
    1,
    0,
  ]);
  deepEqual(await claimAt(store, T0 + HOUR - 1), { tasks: [], nextAt: T0 + HOUR });
  deepEqual((await claimAt(store, T0 + HOUR)).tasks, [1]);
  const over = await open(store, 1, { now: T0 + HOUR });
  deepEqual(over.end, { by: "time", at: T0 + HOUR, part: 0 });
  equal((await store.countWaits()).time, 0);
  equal((await store.findTasks(taskIdOf(1)))[0]?.restarts, 0, "no restart is counted");
});

eachStore("open waits are listed with their steps, the first that is due first", async (store) => {
  await running(store, 2);
  await open(store, 1, { dueAt: T0 + 2 * HOUR });
  await open(store, 2, { position: 1 });
  const all = await store.listWaits({ limit: 9 });
  deepEqual(all.map((one) => [one.taskId, one.step, one.kind, one.dueAt, one.openedAt]), [
    [taskIdOf(2), "deploy", "time", T0 + HOUR, T0],
    [taskIdOf(1), "build", "time", T0 + 2 * HOUR, T0],
  ]);
  equal((await store.listWaits({ limit: 1 })).length, 1);
  equal((await store.listWaits({ project: "default", limit: 9 })).length, 2);
  equal((await store.listWaits({ project: "other", limit: 9 })).length, 0);
  const trigger = all[0]?.trigger ?? "";
  equal((await store.listWaits({ trigger, limit: 9 })).length, 2);
  equal((await store.listWaits({ trigger: "other", limit: 9 })).length, 0);
  const ofOne = await store.listWaits({ taskId: taskIdOf(1), trigger, limit: 9 });
  deepEqual(ofOne.map(({ taskId }) => taskId), [taskIdOf(1)]);
});

eachStore("the first part of a wait that comes ends it, once in a round", async (store) => {
  await running(store, 1);
  const asked = {
    taskId: taskIdOf(1),
    position: 0,
    project: "default",
    parts: [HOUR, 2 * HOUR].map((ms) => ({
      kind: "time" as const,
      dueAt: T0 + ms,
      isRelative: true,
      asked: { ms },
    })),
  };
  const first = await store.openWait({ ...asked, round: 1, now: T0 });
  deepEqual(first.parts, asked.parts);
  deepEqual(
    (await store.listWaits({ limit: 9 })).map(({ part, asked }) => [part, asked]),
    [[0, { ms: HOUR }], [1, { ms: 2 * HOUR }]],
  );
  await park(store, 1);
  const ending = { taskId: taskIdOf(1), position: 0, end: BY_ADA, now: T0 + SEC };
  deepEqual(await store.endWait({ ...ending, round: 2 }), { is: "none" });
  deepEqual(await store.endWait({ ...ending, part: 2 }), { is: "none" });
  deepEqual(await store.endWait({ ...ending, part: 1 }), { is: "over" });
  deepEqual(await store.endWait({ ...ending, part: 0 }), {
    is: "was over",
    end: { ...OVER_BY_ADA, part: 1 },
  });
  deepEqual(await store.listWaits({ limit: 9 }), []);
  deepEqual((await claimAt(store, T0 + SEC)).tasks, [1]);
  deepEqual(
    (await store.openWait({ ...asked, round: 1, now: T0 + 9 * HOUR })).end,
    { ...OVER_BY_ADA, part: 1 },
  );

  equal((await store.openWait({ ...asked, round: 2, now: T0 + SEC })).end, undefined);
  deepEqual((await store.openWait({ ...asked, round: 2, now: T0 + HOUR })).end, {
    by: "time",
    at: T0 + HOUR,
    part: 0,
  });
  equal((await store.openWait({ ...asked, round: 3, now: T0 + SEC })).end, undefined);
  deepEqual(await store.endWait(ending), { is: "over" }, "the newest round");
});

eachStore(
  "a task is listed that waits in its second round, for the first of several",
  async (store) => {
    await running(store, 1);
    const taskId = taskIdOf(1);
    const inRound = (round: number, kinds: readonly WaitPart["kind"][]) =>
      store.openWait({
        taskId,
        position: 0,
        round,
        project: "default",
        parts: kinds.map((kind) => ({ kind, dueAt: T0 + HOUR, isRelative: false })),
        now: T0,
      });
    await inRound(1, ["message", "time"]);
    await store.endWait({ taskId, position: 0, round: 1, end: BY_ADA, now: T0 });
    await inRound(2, ["event", "time"]);
    await park(store, 1);
    const [task] = await store.listTasks({ limit: 9 });
    deepEqual(task?.readiness, {
      is: "waiting",
      until: T0 + HOUR,
      wait: { position: 0, kind: "event" },
    });
  },
);

eachStore("a wait ends once, whoever ends it, and its task goes on", async (store) => {
  await running(store, 1);
  deepEqual(await byHand(store, 1), { is: "none" });
  await open(store, 1);
  await park(store, 1);
  const answers = await Promise.all([byHand(store, 1), byHand(store, 1), byHand(store, 1)]);
  const [first, ...late] = answers.toSorted((a, b) => a.is.length - b.is.length);
  deepEqual(first, { is: "over" });
  for (const one of late) deepEqual(one, { is: "was over", end: OVER_BY_ADA });
  deepEqual((await claimAt(store, T0)).tasks, [1]);
  deepEqual((await open(store, 1, { now: T0 + 2 * HOUR })).end, OVER_BY_ADA, "not by its time");
  await finish(store, 1);
  deepEqual(await byHand(store, 1), { is: "ended" });
});

eachStore("what ends a wait before its task is parked is not missed", async (store) => {
  await running(store, 2);
  for (const n of [1, 2]) await open(store, n);
  await open(store, 2, { position: 1 });
  deepEqual(await byHand(store, 1), { is: "over" });
  deepEqual(await byHand(store, 2, 1), { is: "over" });
  await park(store, 1);
  await park(store, 2, { waits: [0, 1] });
  deepEqual((await claimAt(store, T0)).tasks, [1, 2]);
  await park(store, 2, { waits: [0] });
  deepEqual((await claimAt(store, T0)).tasks, [], "it knows of that one now");
});

eachStore("a task that waits keeps its group, and gives its workspace back", async (store) => {
  const limited = (policy: "Queue", key: string) => ({
    task: { ...grouped(policy, { key }).task, workspaceMax: 1 },
  });
  await accept(store, 1, limited("Queue", "a"));
  await accept(store, 2, limited("Queue", "a"));
  await accept(store, 3, limited("Queue", "b"));
  deepEqual(await claim(store), [1]);
  await open(store, 1);
  await park(store, 1);
  deepEqual(await claim(store), [3], "the workspace has room, the group has none");
  deepEqual(await standing(store, 2), {
    is: "queued",
    in: "group",
    max: 1,
    open: 1,
    first: taskIdOf(1),
  });
  await accept(store, 4, limited("Queue", "c"));
  deepEqual((await claimAt(store, T0 + HOUR)).tasks, [], "its time has come, and there is no room");
  deepEqual(await standing(store, 1), {
    is: "queued",
    in: "workspace",
    max: 1,
    open: 1,
    first: taskIdOf(3),
  });
  await finish(store, 3);
  deepEqual(await claim(store), [1], "before the one that came later");
  await finish(store, 1);
  deepEqual(await claim(store), [2]);
});

eachStore("a task keeps its workspace where others would change its files", async (store) => {
  for (const n of [1, 2]) await accept(store, n, { task: { workspaceMax: 1 } });
  deepEqual(await claim(store), [1]);
  await open(store, 1);
  await park(store, 1, { hasOwnFiles: false });
  deepEqual(await claim(store), []);
  deepEqual((await claimAt(store, T0 + HOUR)).tasks, [1]);
});

eachStore("one that waits for a turn, too, keeps its workspace", async (store) => {
  for (const n of [1, 2, 3]) {
    await accept(store, n, { task: n === 1 ? {} : { workspaceMax: 1 } });
  }
  deepEqual(await claim(store), [1, 2]);
  await ask(store, 1);
  await ask(store, 2, { position: 1 });
  await open(store, 2);
  await park(store, 2);
  deepEqual(await claim(store), []);
  await store.endTurn(taskIdOf(1), 5);
  deepEqual(await claim(store), [2]);
});

eachStore(
  "a task that waits and is cancelled or replaced gets a worker, and no answer any more",
  async (store) => {
    for (const n of [1, 3]) await accept(store, n);
    await accept(store, 2, grouped("Replace"));
    await claim(store);
    for (const n of [1, 2, 3]) await open(store, n);
    for (const n of [1, 2]) await park(store, n);
    equal(await store.cancelTask(taskIdOf(1), { reason: "stop", now: T0 }), "stopping");
    equal(await store.cancelTask(taskIdOf(3), { reason: "stop", now: T0 }), "stopping");
    await accept(store, 4, grouped("Replace"));
    deepEqual(await store.listWaits({ limit: 9 }), []);
    for (const n of [1, 2, 3]) deepEqual(await byHand(store, n), { is: "ended" });
    equal((await open(store, 3)).end?.by, "task");
    await park(store, 3);
    deepEqual(await claim(store), [1, 2, 3], "the new one waits for the room of the old one");
    for (const n of [1, 2, 3]) await finish(store, n);
    deepEqual(await claim(store), [4]);
  },
);

eachStore("the end of a task ends its waits", async (store) => {
  await running(store, 1);
  await open(store, 1);
  await store.finishTask({
    taskId: taskIdOf(1),
    state: "failed",
    reason: "late",
    now: T0,
    mayHaveWaits: true,
  });
  deepEqual(await store.listWaits({ limit: 9 }), []);
});

eachStore(
  "a clock that is set back makes no wait end early, and none last longer",
  async (store) => {
    await running(store, 2);
    const ahead = T0 + 1000 * HOUR;
    await open(store, 1, { now: ahead, dueAt: ahead + HOUR, isRelative: true });
    await open(store, 2, { now: ahead, dueAt: ahead + HOUR });
    for (const n of [1, 2]) await park(store, n, { until: ahead + HOUR, now: ahead });
    deepEqual((await claimAt(store, T0)).tasks, [1, 2], "they look at the clock");
    const relative = await open(store, 1, { now: T0 });
    deepEqual([dueAtOf(relative), relative.openedAt, relative.end], [T0 + HOUR, T0, undefined]);
    const fixed = await open(store, 2, { now: T0 });
    deepEqual([dueAtOf(fixed), fixed.openedAt, fixed.end], [ahead + HOUR, T0, undefined]);
    await park(store, 1, { until: dueAtOf(relative) });
    await park(store, 2, { until: dueAtOf(fixed) });
    deepEqual((await claimAt(store, T0)).tasks, [], "and wait on");
  },
);

eachStore("work is counted, and no waiting", async (store) => {
  await running(store, 1);
  await open(store, 1);
  await park(store, 1, { activeMs: 700 });
  await claimAt(store, T0 + HOUR);
  await store.requeueTask(taskIdOf(1), { now: 5, activeMs: 300 });
  const { tasks } = await store.claimTasks(9, T0 + HOUR);
  equal(tasks[0]?.task.activeMs, 1000);
});

eachStore(
  "of a run that a crash cut off the work up to its last step is counted",
  async (_, tested) => {
    await accept(tested.store, 1);
    await claimAt(tested.store, T0);
    const began = { ...step(0, "succeeded"), startedAt: T0 + SEC, finishedAt: T0 + 3 * SEC };
    await tested.store.saveStep(taskIdOf(1), began);
    const store = await tested.restart();
    const [interrupted] = await store.claimInterrupted();
    equal(interrupted?.task.activeMs, 3 * SEC);
    await store.requeueTask(taskIdOf(1), { now: 5 });
    const { tasks } = await store.claimTasks(9, T0 + HOUR);
    equal(tasks[0]?.task.activeMs, 3 * SEC, "not the time in which nobody ran it");
  },
);

eachStore("a daemon that is killed between two calls goes on where it was", async (_, tested) => {
  for (const cut of range(0, 8)) {
    const n = 100 + cut;
    const now = T0 + cut * HOUR;
    let calls = 0;
    const then = async (call: (store: Store) => Promise<unknown>): Promise<void> => {
      await call(tested.store);
      if (calls++ !== cut) return;
      const store = await tested.restart();
      for (const { task } of await store.claimInterrupted()) {
        await store.requeueTask(task.id, { now: 5 });
      }
    };
    /** The task runs: it is claimed, unless it was claimed before. */
    const runs = async (at: number): Promise<void> => {
      const [task] = await tested.store.findTasks(taskIdOf(n));
      if (task?.state !== "running") deepEqual((await claimAt(tested.store, at)).tasks, [n]);
    };
    const opens = (store: Store, at: number) => open(store, n, { now: at, dueAt: now + SEC });
    await accept(tested.store, n);
    await then((store) => claimAt(store, now));
    await runs(now);
    await then((store) => opens(store, now));
    await runs(now);
    equal((await opens(tested.store, now)).end, undefined);
    await then((store) => park(store, n, { until: now + SEC, now }));
    deepEqual(await inState(tested.store, "waiting"), [n]);
    await then((store) => claimAt(store, now));
    deepEqual(await inState(tested.store, "waiting"), [n], "it is not due");
    await then((store) => claimAt(store, now + SEC));
    await runs(now + SEC);
    await then((store) => opens(store, now + SEC));
    await runs(now + SEC);
    deepEqual((await opens(tested.store, now + 2 * SEC)).end, {
      by: "time",
      at: now + SEC,
      part: 0,
    });
    await then((store) => finish(store, n));
    const [task] = await tested.store.findTasks(taskIdOf(n));
    ok(task !== undefined && task.restarts <= 1, "only a kill of a running task is a restart");
    deepEqual(await countsOf(tested.store), { pending: 0, running: 0 });
    deepEqual(Object.values(await tested.store.countWaits()).filter((count) => count > 0), []);
  }
});

eachStore(
  "the waits of steps that will not run any more end, and with a task its steps",
  async (store) => {
    await running(store, 2);
    await open(store, 1);
    await open(store, 1, { position: 1 });
    await open(store, 2);
    await store.endWaits(taskIdOf(1), T0 + SEC);
    deepEqual((await store.listWaits({ limit: 9 })).map(({ taskId }) => taskId), [taskIdOf(2)]);
    const was = { is: "was over", end: { by: "task", at: T0 + SEC, part: 0 } };
    deepEqual([await byHand(store, 1), await byHand(store, 1, 1)], [was, was]);
    for (const [n, state] of [[1, "failed"], [2, "cancelled"]] as const) {
      await store.saveStep(taskIdOf(n), step(0, "waiting"));
      const end = { taskId: taskIdOf(n), state, reason: "gone", now: T0, mayHaveWaits: true };
      ok(await store.finishTask(end));
      const [task] = await store.findTasks(taskIdOf(n));
      deepEqual([task?.steps[0]?.state, task?.steps[0]?.reason], [state, "gone"]);
    }
    equal((await store.countWaits()).time, 0);
  },
);

eachStore("whatever parks and wakes when, no workspace is ever over its limit", async (store) => {
  let seed = 11;
  const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
  const running = new Set<number>();
  const parked = new Set<number>();
  const over = new Set<number>();
  for (let round = 0; over.size < 120; round++) {
    ok(round < 5000, `${over.size} ended`);
    if (round < 120) await accept(store, round, { task: { workspaceMax: 3 } });
    const { tasks } = await store.claimTasks(random(4), T0 + round);
    for (const { task } of tasks) {
      const n = numberOf(task.id);
      ok(!running.has(n), "handed out twice");
      running.add(n);
      parked.delete(n);
    }
    ok(running.size <= 3, `${running.size} at ${round}`);
    for (const n of [...running]) {
      const what = random(3);
      if (what === 0) continue;
      running.delete(n);
      if (what === 1) {
        over.add(n);
        await finish(store, n);
      } else {
        parked.add(n);
        const dueAt = T0 + round + random(40);
        await open(store, n, { now: T0 + round, dueAt, position: round });
        await park(store, n, { until: dueAt, now: T0 + round, waits: [] });
      }
    }
    for (const n of parked) if (random(30) === 0) await byHand(store, n, round);
  }
});

eachStore(
  "a wait that ended while another one opened is news to the worker that parks",
  async (store) => {
    await running(store, 1);
    await open(store, 1, { position: 0 });
    await open(store, 1, { position: 1 });
    await byHand(store, 1);
    await park(store, 1, { waits: [0] });
    deepEqual(await claim(store), [1], "as many are open as it saw, but not the same");
    await park(store, 1, { waits: [1] });
    deepEqual(await claim(store), []);
  },
);

eachStore("the end of an agent's limit wakes a task that also waits for a time", async (store) => {
  const limit = { project: "default", agent: "claude", reason: "no" };
  await accept(store, 1, { task: { workspaceMax: 1 } });
  await claimAt(store, T0);
  await open(store, 1, { dueAt: T0 + 9 * HOUR });
  await store.noteLimit({ ...limit, until: T0 + HOUR }, T0);
  await park(store, 1, { until: T0 + HOUR });
  deepEqual(await claim(store), []);
  await store.noteLimit({ ...limit, until: T0 }, T0);
  deepEqual(await claim(store), [1], "it has its room back");
});

eachStore(
  "an event that comes after the time of a wait is too late, one before is not",
  async (store) => {
    await running(store, 1);
    const waits = async (position: number, arrivedAt: number) => {
      const parts = [
        { kind: "event", dueAt: T0 + 2 * HOUR, isRelative: true },
        { kind: "time", dueAt: T0 + HOUR, isRelative: true },
      ] as const;
      const place = { taskId: taskIdOf(1), position, round: 1 };
      await store.openWait({ ...place, project: "default", parts, now: T0 });
      const end = { by: "event", deliveryId: taskIdOf(7), outputs: {} } as const;
      return await store.endWait({ ...place, end, arrivedAt, now: T0 + 9 * HOUR });
    };
    deepEqual(await waits(0, T0 + HOUR - 1), { is: "over" });
    deepEqual(await waits(1, T0 + HOUR), {
      is: "was over",
      end: { by: "time", at: T0 + 9 * HOUR, part: 1 },
    });
  },
);

eachStore(
  "a wait that begins anew takes the events of a clock that was set back",
  async (store) => {
    await running(store, 1);
    const asked = { expressions: ["payload.a"], from: firstIdAt(T0) };
    const key = { trigger: "t", shape: "aa", digest: "bb" };
    const parts = [{ kind: "event", dueAt: T0 + HOUR, isRelative: true, asked, key }] as const;
    const wait = { taskId: taskIdOf(1), position: 0, round: 1, project: "default", parts };
    await store.openWait({ ...wait, now: T0 });
    const moved = await store.openWait({ ...wait, now: T0 - 9 * HOUR });
    deepEqual(moved.parts, [{
      ...parts[0],
      dueAt: T0 - 8 * HOUR,
      asked: { ...asked, from: firstIdAt(T0 - 9 * HOUR) },
    }]);
  },
);
