/**
 * Since when the oldest tasks are pending: a task that has waited, or run, counts from when it became
 * pending again.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import type { Store } from "../../../src/store/store.ts";
import type { NewTask } from "../../../src/store/task_records.ts";
import { accept, PLAN, retry, taskIdOf } from "../../helpers/store_records.ts";
import { ask, end, park } from "./agent_tasks.ts";
import { eachStore } from "./each_store.ts";
import { claimAt, debounced, HOUR, SEC, T0 } from "./timed_tasks.ts";

/** When a task that waited since T0 becomes pending again. */
const DAYS_LATER = T0 + 72 * HOUR;

/** Seconds after T0 since when the oldest task is pending: any, of the ready ones, of those of low priority. */
async function oldest(store: Store): Promise<(number | undefined)[]> {
  const { oldestPendingAt, oldestReadyAt, oldestLowAt } = await store.counts();
  return [oldestPendingAt, oldestReadyAt, oldestLowAt]
    .map((at) => at === undefined ? undefined : (at - T0) / SEC);
}

const NONE = [undefined, undefined, undefined];
const ALL_WOKEN = Array(3).fill((DAYS_LATER - T0) / SEC);

/** A running task of low priority. */
async function running(store: Store, n: number, task: Partial<NewTask> = {}): Promise<void> {
  await accept(store, n, { receivedAt: T0, task: { priority: "low", ...task } });
  await claimAt(store, T0);
}

const openWait = (store: Store, n: number) =>
  store.openWait({
    taskId: taskIdOf(n),
    position: 0,
    round: 1,
    project: "default",
    parts: [{ kind: "time", dueAt: T0 + 9999 * HOUR, isRelative: false }],
    now: T0,
  });

/** What wakes a task that waits, each with what it waits for. */
const WAKES: Record<string, {
  readonly before?: (store: Store) => Promise<unknown>;
  readonly task?: Partial<NewTask>;
  readonly waits?: (store: Store) => Promise<unknown>;
  readonly until?: number;
  readonly wake: (store: Store) => Promise<unknown>;
}> = {
  "a person": {
    waits: (store) => openWait(store, 1),
    wake: (store) =>
      store.endWait({
        taskId: taskIdOf(1),
        position: 0,
        end: { by: "hand", who: "ada", reason: "it is Friday" },
        now: DAYS_LATER,
      }),
  },
  "its time": {
    until: DAYS_LATER - SEC,
    // no worker is free: the claim takes nothing
    wake: (store) => store.claimTasks(0, DAYS_LATER),
  },
  "the end of another turn": {
    before: async (store) => {
      await running(store, 2);
      await ask(store, 2);
    },
    waits: (store) => ask(store, 1),
    wake: (store) => store.endTurn(taskIdOf(2), DAYS_LATER),
  },
  "a limit that is over": {
    before: (store) =>
      store.noteLimit(
        { project: "default", agent: "claude", until: DAYS_LATER + HOUR, reason: "" },
        T0,
      ),
    waits: (store) => ask(store, 1),
    until: DAYS_LATER + HOUR,
    wake: (store) =>
      store.noteLimit(
        { project: "default", agent: "claude", until: DAYS_LATER, reason: "" },
        DAYS_LATER,
      ),
  },
  "a cancellation": {
    waits: (store) => openWait(store, 1),
    wake: (store) => store.cancelTask(taskIdOf(1), { reason: "", now: DAYS_LATER }),
  },
  "its only child": {
    waits: (store) => startChild(store),
    wake: async (store) => {
      await store.cancelTask(taskIdOf(9), { reason: "", now: DAYS_LATER });
      await store.endChild(taskIdOf(9), DAYS_LATER);
    },
  },
};

async function startChild(store: Store): Promise<void> {
  await store.startChildren({
    wait: {
      taskId: taskIdOf(1),
      position: 0,
      round: 1,
      project: "default",
      parts: [{
        kind: "task",
        dueAt: T0 + 9999 * HOUR,
        isRelative: true,
        asked: { items: 1, maxParallel: 1 },
        shown: "[{}]",
      }],
      now: T0,
    },
    children: [{
      item: 0,
      inputs: {},
      task: {
        id: taskIdOf(9),
        project: "default",
        trigger: "push",
        workflow: "build",
        workspace: "repo",
        plan: PLAN,
        followed: true,
      },
    }],
    isShared: false,
    sharedAbove: [],
  });
}

for (const [what, { before, task = {}, waits, until, wake }] of Object.entries(WAKES)) {
  eachStore(`a task that ${what} wakes is pending since then`, async (store) => {
    await before?.(store);
    await running(store, 1, task);
    await waits?.(store);
    await park(store, 1, until);
    await wake(store);
    deepEqual(await oldest(store), ALL_WOKEN);
    await accept(store, 50, { receivedAt: DAYS_LATER - SEC, task: { priority: "low" } });
    deepEqual(await oldest(store), ALL_WOKEN.map((secs) => secs - 1), "one that never waited");
    await claimAt(store, DAYS_LATER);
    deepEqual(await oldest(store), NONE);
  });
}

eachStore("a task that its worker gives back is pending since then", async (store) => {
  await running(store, 1);
  await store.requeueTask(taskIdOf(1), { now: DAYS_LATER });
  deepEqual(await oldest(store), ALL_WOKEN);
});

eachStore("a task that need not wait after all is pending since it was parked", async (store) => {
  await running(store, 2);
  await running(store, 1);
  await ask(store, 2);
  await ask(store, 1);
  await end(store, 2); // so its turn came before it was parked
  await park(store, 1, undefined, DAYS_LATER);
  deepEqual(await oldest(store), ALL_WOKEN);
});

eachStore("a retry is pending since it was made", async (store) => {
  await running(store, 1);
  await store.finishTask({ taskId: taskIdOf(1), state: "failed", reason: "", now: T0 });
  await retry(store, 2, 1, { now: DAYS_LATER });
  deepEqual(await oldest(store), ALL_WOKEN);
});

eachStore("a delayed task is pending since it was made", async (store) => {
  await debounced(store, 1, T0, { secs: 10 });
  deepEqual(await oldest(store), [0, undefined, undefined]);
  await store.claimTasks(0, T0 + HOUR);
  deepEqual(await oldest(store), [0, 0, undefined]);
});

eachStore("a task that waits for room again is pending since it was woken", async (store) => {
  const one = { workspaceMax: 1 };
  await running(store, 1, one);
  await openWait(store, 1);
  await store.parkTask(taskIdOf(1), { steps: [], now: T0, waits: [0], hasOwnFiles: true });
  await running(store, 2, one); // in the room that it has given back
  await store.endWait({
    taskId: taskIdOf(1),
    position: 0,
    end: { by: "hand", who: "ada", reason: "" },
    now: DAYS_LATER,
  });
  deepEqual(await oldest(store), [(DAYS_LATER - T0) / SEC, undefined, undefined]);
});
