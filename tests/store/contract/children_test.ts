/**
 * Child tasks: a step makes each once, and goes on when they have ended, whoever tells it.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  match,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import type { AskedChildren } from "../../../src/store/child_records.ts";
import type { Store } from "../../../src/store/store.ts";
import type { NewTask, Task } from "../../../src/store/task_records.ts";
import { accept, idOf, PLAN, retry, taskIdOf } from "../../helpers/store_records.ts";
import { eachStore } from "./each_store.ts";
import { claimAt, HOUR, SEC, T0 } from "./timed_tasks.ts";

const child = (n: number, more: Partial<NewTask> = {}): NewTask => ({
  id: taskIdOf(n),
  project: "default",
  trigger: "push",
  workflow: "build",
  workspace: "repo",
  plan: PLAN,
  followed: true,
  ...more,
});

interface Asked {
  readonly now?: number;
  readonly items?: number;
  readonly maxParallel?: number;
  readonly isShared?: boolean;
  readonly sharedAbove?: readonly string[];
}

/** What step 0 of task `n` asks for: these tasks, in the order of the items. */
const asked = (
  n: number,
  tasks: readonly NewTask[],
  { now = T0, items = tasks.length, maxParallel = 1, isShared = false, sharedAbove = [] }: Asked =
    {},
): AskedChildren => ({
  wait: {
    taskId: taskIdOf(n),
    position: 0,
    round: 1,
    project: "default",
    parts: [{
      kind: "task",
      dueAt: T0 + HOUR,
      isRelative: true,
      asked: { items, maxParallel },
      shown: JSON.stringify(tasks.map((_, n) => ({ n: String(n) }))),
    }],
    now,
  },
  children: tasks.map((task, item) => ({ item, task, inputs: { n: String(item) } })),
  isShared,
  sharedAbove,
});

const found = async (store: Store, n: number): Promise<Task> => {
  const [task] = await store.findTasks(taskIdOf(n));
  if (task === undefined) throw new Error(`no task ${n}`);
  return task;
};

const park = (store: Store, n: number) =>
  store.parkTask(taskIdOf(n), {
    steps: [],
    until: T0 + HOUR,
    now: T0,
    waits: [0],
    hasOwnFiles: true,
  });

const finish = (store: Store, n: number, state: "succeeded" | "failed" = "succeeded") =>
  store.finishTask({ taskId: taskIdOf(n), state, reason: "why", now: T0 + SEC, followed: true });

/** Task 1 runs, and its step has started task 2. */
async function started(store: Store): Promise<void> {
  await accept(store, 1, { payload: new TextEncoder().encode('{"changed":1}') });
  await claimAt(store, T0);
  const { made } = await store.startChildren(asked(1, [child(2)]));
  deepEqual(made, [taskIdOf(2)]);
}

eachStore(
  "a step makes its child once, with the event and the payload of its task",
  async (store) => {
    await started(store);
    const again = await store.startChildren(asked(1, [child(3)], { now: T0 + SEC }));
    deepEqual([again.made, again.children.map(({ id }) => id)], [[], [taskIdOf(2)]]);
    const { state, parentId, rootId, depth, deliveryId, createdAt } = await found(store, 2);
    deepEqual({ state, parentId, rootId, depth, deliveryId, createdAt }, {
      state: "pending",
      parentId: taskIdOf(1),
      rootId: taskIdOf(1),
      depth: 1,
      deliveryId: idOf(1),
      createdAt: T0,
    });
    equal((await found(store, 1)).rootId, "");
    await park(store, 1);
    const { tasks: [claimed] } = await store.claimTasks(9, T0);
    equal(claimed?.task.id, taskIdOf(2));
    equal(new TextDecoder().decode(claimed?.payload), '{"changed":1}');
    deepEqual(await store.listChildren({ taskId: taskIdOf(1), limit: 9 }), [{
      taskId: taskIdOf(1),
      position: 0,
      round: 1,
      item: 0,
      id: taskIdOf(2),
      workflow: "build",
      state: "running",
      reason: "",
    }]);
    equal((await store.countWaits()).task, 1);
  },
);

eachStore("the end of a child lets its task go on, with its outputs, once", async (store) => {
  await started(store);
  await park(store, 1);
  equal(await store.endChild(taskIdOf(2), T0), undefined, "it has not ended");
  await claimAt(store, T0);
  await store.saveChildOutputs(taskIdOf(2), { file: "app" });
  await finish(store, 2);
  deepEqual(await store.listLostChildren(9), [taskIdOf(2)]);
  deepEqual(await store.endChild(taskIdOf(2), T0 + SEC), { parentId: taskIdOf(1), isOver: true });
  equal(await store.endChild(taskIdOf(2), T0 + SEC), undefined);
  deepEqual(await store.listLostChildren(9), []);
  deepEqual((await claimAt(store, T0 + SEC)).tasks, [1]);
  const { wait, children: [ended] } = await store.startChildren(asked(1, []));
  deepEqual(wait.end, { by: "children", at: T0 + SEC, part: 0 });
  deepEqual([ended?.state, ended?.reason, ended?.outputs], ["succeeded", "why", { file: "app" }]);
});

eachStore("a child has what it was given, also in a retry, until bodies go", async (store) => {
  await accept(store, 1);
  await claimAt(store, T0);
  const given = async (n: number) =>
    (await store.claimTasks(9, T0)).tasks.find(({ task }) => task.id === taskIdOf(n))?.inputs;
  await store.startChildren(asked(1, [child(2), child(3)], { maxParallel: 1 }));
  deepEqual(await given(2), { n: "0" });
  await finish(store, 2, "failed");
  await store.endChild(taskIdOf(2), T0);
  await retry(store, 9, 2);
  deepEqual(await given(9), { n: "0" });
  await finish(store, 9);
  await finish(store, 1, "failed");
  for (const n of [1, 2, 9]) await store.forgetTaskEnd(taskIdOf(n), []);
  deepEqual((await store.deleteBodies({ ids: [idOf(1)], before: 1e15, now: T0 })).deleted, 1);
  await rejects(retry(store, 10, 2), { code: "conflict" });
});

eachStore("what children give is read once, and bounded for all items together", async (store) => {
  await accept(store, 1);
  await claimAt(store, T0);
  await store.startChildren(asked(1, [child(2), child(3), child(4)], { maxParallel: 3 }));
  await claimAt(store, T0);
  const long = { text: "x".repeat(600_000) };
  equal(await store.saveChildOutputs(taskIdOf(2), long), true);
  equal(await store.saveChildOutputs(taskIdOf(2), long), true, "again, after a lost answer");
  equal(await store.saveChildOutputs(taskIdOf(3), long), false, "too much together");
  equal(await store.saveChildOutputs(taskIdOf(3), { text: "short" }), true);
  equal(await store.saveChildOutputs(taskIdOf(1), long), true, "nothing waits for it");
  for (const n of [2, 3]) {
    await finish(store, n);
    await store.endChild(taskIdOf(n), T0 + SEC);
  }
  const outputsOf = async () =>
    (await store.startChildren(asked(1, []))).children.map(({ outputs }) => outputs);
  deepEqual(await outputsOf(), [{}, {}, {}], "its step waits");
  await finish(store, 4, "failed");
  await store.endChild(taskIdOf(4), T0 + SEC);
  deepEqual(await outputsOf(), [long, { text: "short" }, {}]);
});

eachStore("an end that came before the task was parked, or was told to nobody", async (store) => {
  await started(store);
  await claimAt(store, T0);
  await finish(store, 2, "failed");
  await store.endChild(taskIdOf(2), T0 + SEC);
  await park(store, 1);
  equal((await found(store, 1)).state, "pending", "it goes on at once");
  await accept(store, 4);
  await claimAt(store, T0);
  await store.startChildren(asked(4, [child(5)]));
  await claimAt(store, T0);
  await finish(store, 5);
  const seen = await store.startChildren(asked(4, []));
  equal(seen.wait.end?.by, "children", "its step sees it");
});

eachStore("a child is gone: its step goes on, and hears that", async (store) => {
  await started(store);
  await park(store, 1);
  await claimAt(store, T0);
  await finish(store, 2);
  await store.forgetTaskEnd(taskIdOf(2), []);
  await store.deleteTask(taskIdOf(2), { dryRun: false });
  deepEqual(await store.listLostChildren(9), [taskIdOf(2)]);
  equal((await store.endChild(taskIdOf(2), T0 + SEC))?.isOver, true);
  const [gone] = await store.listChildren({ taskId: taskIdOf(1), position: 0, round: 1, limit: 9 });
  equal(gone?.state, "failed");
  match(gone?.reason ?? "", /deleted/);
});

eachStore("what a child came to stays when it is pruned, and goes with its task", async (store) => {
  await started(store);
  await claimAt(store, T0);
  await finish(store, 2);
  await store.endChild(taskIdOf(2), T0 + SEC);
  await store.forgetTaskEnd(taskIdOf(2), []);
  equal((await store.pruneTasks({ before: T0 + HOUR, limit: 9 })).length, 1);
  const of = { taskId: taskIdOf(1), limit: 9 };
  deepEqual((await store.listChildren(of)).map(({ state }) => state), ["succeeded"]);
  await finish(store, 1);
  await store.forgetTaskEnd(taskIdOf(1), []);
  await store.pruneTasks({ before: T0 + HOUR, limit: 9 });
  deepEqual(await store.listChildren(of), []);
});

eachStore("no child of a task that is being cancelled is made", async (store) => {
  await accept(store, 1);
  await claimAt(store, T0);
  await store.cancelTask(taskIdOf(1), { reason: "", now: T0 });
  deepEqual((await store.startChildren(asked(1, [child(2)]))).made, []);
});

eachStore(
  "children are abandoned when their task is stopped or its step is late",
  async (store) => {
    const abandoned = async (now: number) => {
      const { children, nextAt } = await store.listAbandonedChildren(now, 9);
      return { ids: children.map(({ id }) => id), nextAt };
    };
    deepEqual(await abandoned(T0), { ids: [], nextAt: undefined });
    await started(store);
    await park(store, 1);
    deepEqual(await abandoned(T0), { ids: [], nextAt: T0 + HOUR });
    deepEqual(await abandoned(T0 + HOUR), { ids: [taskIdOf(2)], nextAt: undefined });
    await store.cancelTask(taskIdOf(1), { reason: "", now: T0 });
    deepEqual(await abandoned(T0), { ids: [taskIdOf(2)], nextAt: undefined });
    await store.cancelTask(taskIdOf(2), { reason: "", now: T0, followed: true });
    deepEqual(await abandoned(T0), { ids: [], nextAt: undefined }, "it was told");
  },
);

eachStore("children are made as there is room, and none after a failure", async (store) => {
  await accept(store, 1);
  await claimAt(store, T0);
  const all = [2, 3, 4, 5, 6].map((n) => child(n));
  const start = async (now = T0) =>
    (await store.startChildren(asked(1, all, { maxParallel: 2, now }))).made;
  deepEqual(await start(), [2, 3].map(taskIdOf));
  deepEqual(await start(), []);
  await claimAt(store, T0);
  await finish(store, 2);
  deepEqual(await store.endChild(taskIdOf(2), T0), { parentId: taskIdOf(1), isOver: false });
  deepEqual(await start(), [taskIdOf(4)]);
  await finish(store, 3, "failed");
  deepEqual(await store.endChild(taskIdOf(3), T0), { parentId: taskIdOf(1), isOver: false });
  deepEqual(await start(), []);
  await claimAt(store, T0);
  await finish(store, 4);
  deepEqual(await store.endChild(taskIdOf(4), T0), { parentId: taskIdOf(1), isOver: true });
});

eachStore(
  "who follows the end of a child learns which come next, and makes each once",
  async (store) => {
    await accept(store, 1);
    await claimAt(store, T0);
    const all = [2, 3, 4].map((n) => child(n));
    await store.startChildren(asked(1, all, { maxParallel: 2 }));
    await park(store, 1);
    equal(await store.findNextChildren(taskIdOf(2)), undefined, "there is no room");
    await claimAt(store, T0);
    await finish(store, 2);
    await finish(store, 3);
    const place = { taskId: taskIdOf(1), position: 0, round: 1, project: "default" };
    const next = { ...place, next: [{ item: 2, inputs: { n: "2" } }] };
    deepEqual(await store.findNextChildren(taskIdOf(2)), next, "before it is told");
    const follow = async () => {
      const { wait, ...rest } = asked(1, all, { maxParallel: 2 });
      const asks = { ...rest, isFollowUp: true, wait: { ...wait, parts: [] } };
      return (await store.startChildren(asks)).made;
    };
    const made = await Promise.all([follow(), follow()]);
    deepEqual(made.flat(), [taskIdOf(4)]);
    equal(await store.findNextChildren(taskIdOf(3)), undefined);
    for (const n of [2, 3]) equal((await store.endChild(taskIdOf(n), T0))?.isOver, false);
    await claimAt(store, T0);
    await finish(store, 4);
    equal((await store.endChild(taskIdOf(4), T0))?.isOver, true);
    equal((await found(store, 1)).state, "pending");
  },
);

eachStore("16 levels, and no room that a task above keeps", async (store) => {
  await accept(store, 1, { task: { workspaceMax: 1 } });
  await claimAt(store, T0);
  for (let n = 1; n <= 16; n++) {
    const more = { workspaceMax: 1 };
    const { made, wait } = await store.startChildren(
      asked(n, [child(n + 1, more)], { isShared: true, sharedAbove: ["repo"] }),
    );
    deepEqual([made, wait.end], [[taskIdOf(n + 1)], undefined], `level ${n}`);
    deepEqual(
      (await claimAt(store, T0)).tasks,
      [n + 1],
      "it runs in the room of the one at the top",
    );
  }
  const { wait, made } = await store.startChildren(asked(17, [child(18)]));
  deepEqual(made, []);
  match(wait.end?.by === "children" ? wait.end.refused ?? "" : "", /does a workflow start itself/);
});

eachStore(
  "a retry of a child has the same task at the top, and no step waits for it",
  async (store) => {
    await started(store);
    await claimAt(store, T0);
    await finish(store, 2);
    const retry = {
      id: taskIdOf(7),
      of: taskIdOf(2),
      kept: [],
      keepDirectory: false,
      by: { called: "ada" },
    };
    const { rootId, parentId } = await store.retryTask({ ...retry, staysOnNode: false, now: T0 });
    deepEqual([rootId, parentId], [taskIdOf(1), taskIdOf(1)]);
    equal(await store.endChild(taskIdOf(7), T0), undefined);
  },
);

eachStore(
  "a task above that has ended keeps no room for what a retried child starts",
  async (store) => {
    const max = { workspaceMax: 1 };
    await accept(store, 1, { task: max });
    await claimAt(store, T0);
    await store.startChildren(asked(1, [child(2, { workspace: "other" })]));
    await claimAt(store, T0);
    for (const n of [2, 1]) await finish(store, n, "failed");
    await store.retryTask({
      id: taskIdOf(7),
      of: taskIdOf(2),
      kept: [],
      keepDirectory: false,
      by: { called: "ada" },
      staysOnNode: false,
      now: T0,
    });
    await accept(store, 9, { task: max });
    deepEqual((await claimAt(store, T0)).tasks, [7, 9]);
    const { made } = await store.startChildren(
      asked(7, [child(8, max)], { isShared: true, sharedAbove: ["repo", "other"] }),
    );
    deepEqual(made, [taskIdOf(8)]);
    deepEqual((await claimAt(store, T0)).tasks, [], "it queues behind task 9");
    await finish(store, 9);
    deepEqual((await claimAt(store, T0)).tasks, [8]);
  },
);
