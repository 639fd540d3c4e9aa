/**
 * Waits that two daemons share: who ends one, and where its task goes on.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import type { Store } from "../../../src/store/store.ts";
import type { Wait } from "../../../src/store/wait_records.ts";
import { accept, STEPS, taskIdOf } from "../../helpers/store_records.ts";
import { twoDaemonsTest } from "../../rigs/two_daemons.ts";
import { numberOf, range } from "../contract/each_store.ts";
import { HOUR, SEC, T0 } from "../contract/timed_tasks.ts";

const open = (store: Store, n: number, now = T0, dueAt = T0 + HOUR): Promise<Wait> =>
  store.openWait({
    taskId: taskIdOf(n),
    position: 0,
    round: 1,
    project: "default",
    parts: [{ kind: "time", dueAt, isRelative: false }],
    now,
  });

const park = (store: Store, n: number, until = T0 + HOUR) =>
  store.parkTask(taskIdOf(n), { steps: [], until, now: T0, waits: [0], hasOwnFiles: true });

const byHand = (store: Store, n: number, who: string) =>
  store.endWait({
    taskId: taskIdOf(n),
    position: 0,
    end: { by: "hand", who, reason: "why not" },
    now: T0 + SEC,
  });

async function claim(store: Store, now = T0): Promise<number[]> {
  const { tasks, interrupted = [] } = await store.claimTasks(99, now);
  return [...tasks, ...interrupted].map(({ task }) => numberOf(task.id));
}

const end = (store: Store, n: number) =>
  store.finishTask({ taskId: taskIdOf(n), state: "succeeded", reason: "", now: T0 });

twoDaemonsTest(
  "of a time, two people and a cancellation at once, one ends a wait",
  async ({ a, b }) => {
    const seen = new Set<string>();
    for (const n of range(0, 40)) {
      await accept(a, n, { task: { workspaceMax: 2 } });
      deepEqual(await claim(a), [n]);
      await open(a, n);
      await park(a, n);
      const [ada, bob, cancelled, due] = await Promise.all([
        byHand(a, n, "ada"),
        byHand(b, n, "bob"),
        n % 4 === 0 ? b.cancelTask(taskIdOf(n), { reason: "stop", now: T0 }) : undefined,
        n % 2 === 0 ? claim(b, T0 + HOUR) : [],
      ]);
      const late = due.length > 0 ? [] : await claim(b);
      deepEqual([...due, ...late], [n], "one worker gets it, once");
      const wait = await open(b, n, T0 + HOUR);
      const winners = [ada, bob].filter(({ is }) => is === "over").length;
      ok(winners <= 1, "one of both at most");
      if (wait.end?.by === "hand") {
        equal(wait.end.who, ada.is === "over" ? "ada" : "bob");
        equal(winners, 1);
      } else equal(winners, 0);
      if (cancelled !== undefined) equal(cancelled, "stopping");
      seen.add(wait.end?.by ?? "open");
      await end(b, n);
    }
    ok(!seen.has("open"), [...seen].join());
  },
);

twoDaemonsTest(
  "an answer that comes while the task is parked is never missed",
  async ({ a, b }) => {
    for (const n of range(0, 40)) {
      await accept(a, n, { task: { workspaceMax: 1 } });
      deepEqual(await claim(a), [n]);
      await open(a, n);
      await Promise.all([park(a, n), byHand(b, n, "bob")]);
      deepEqual(await claim(b), [n]);
      equal((await open(b, n)).end?.by, "hand");
      await end(b, n);
    }
  },
);

twoDaemonsTest(
  "room that is given back goes to one of both, and never to more",
  async ({ a, b }) => {
    for (const n of range(0, 20)) await accept(a, n, { task: { workspaceMax: 3 } });
    const over = new Set<number>();
    const running = new Set<number>();
    const waited = new Set<number>();
    const work = async (store: Store, n: number): Promise<void> => {
      running.add(n);
      ok(running.size <= 3, `${running.size} at once`);
      const wait = await open(store, n);
      running.delete(n);
      if (wait.end === undefined) {
        waited.add(n);
        await park(store, n);
        await byHand(store === a ? b : a, n, "ada");
      } else {
        over.add(n);
        await end(store, n);
      }
    };
    for (let looks = 0; over.size < 20; looks++) {
      ok(looks < 300, `${over.size} ended`);
      await Promise.all([a, b].map(async (store) => {
        await Promise.all((await claim(store)).map((n) => work(store, n)));
      }));
    }
    equal(waited.size, 20);
  },
);

twoDaemonsTest(
  "a task whose files stay behind goes on at its node; if that is forgotten, it begins anew",
  async ({ a, b, endLeaseOfA }) => {
    const steps = STEPS.map((id) => ({ id }));
    const workspace = { path: "workspaces/default", isolation: "worktree" };
    const plan = { hash: "local", json: JSON.stringify({ steps, workspace }) };
    for (const n of [1, 2]) await accept(a, n, { plan });
    deepEqual(await claim(a), [1, 2]);
    for (const n of [1, 2]) {
      await a.saveStep(taskIdOf(n), {
        position: 1,
        id: "deploy",
        state: "succeeded",
        reason: "",
        startedAt: T0,
        finishedAt: T0,
      });
      await open(a, n);
      await park(a, n);
    }
    await byHand(b, 1, "bob");
    deepEqual(await claim(b), [], "its files are at the other node");
    deepEqual(await claim(a), [1]);
    await rejects(open(b, 1), { code: "conflict" });
    await end(a, 1);
    await endLeaseOfA();
    await b.forgetNode("a");
    deepEqual(await claim(b, T0 + HOUR), [2]);
    const [task] = await b.findTasks(taskIdOf(2));
    deepEqual(task?.steps.map(({ state }) => state), ["pending", "pending"]);
    equal((await open(b, 2, T0 + HOUR, T0 + 2 * HOUR)).end, undefined, "it waits anew");
  },
);
