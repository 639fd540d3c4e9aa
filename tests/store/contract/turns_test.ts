/**
 * Turns of agents: seats, queues, limits, and tasks that are parked meanwhile.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { Store } from "../../../src/store/store.ts";
import { accept, countsOf, step, taskIdOf } from "../../helpers/store_records.ts";
import { ask, end, park, PAUSED, standing } from "./agent_tasks.ts";
import { eachStore, range } from "./each_store.ts";
import { claim, grouped } from "./grouped_tasks.ts";
import { claimAt, HOUR, SEC, T0 } from "./timed_tasks.ts";

const HELD = { is: "held", agent: "claude" } as const;
const WAITS = { is: "waiting", agent: "claude", for: "seat" } as const;

/** Stores tasks, all of them claimed. */
async function running(store: Store, count: number): Promise<void> {
  for (const n of range(1, count + 1)) await accept(store, n);
  await claimAt(store, T0);
}

eachStore("who asked first for a seat gets it first, and its task goes on", async (store) => {
  await running(store, 4);
  deepEqual(await ask(store, 1), HELD);
  deepEqual(await ask(store, 1), HELD, "again, as after a crash");
  for (const n of [3, 2, 4]) deepEqual(await ask(store, n), WAITS);
  deepEqual(await ask(store, 3), WAITS, "its place stays");
  for (const n of [3, 2, 4]) await park(store, n);
  deepEqual(await standing(store, 3), { is: "waiting", agent: "claude", for: "seat" });
  deepEqual((await claimAt(store, T0)).tasks, []);
  await store.endTurn(taskIdOf(1), 5, 0);
  deepEqual(await standing(store, 3), { is: "ready" });
  deepEqual(await standing(store, 2), { is: "waiting", agent: "claude", for: "seat" });
  deepEqual((await claimAt(store, T0)).tasks, [3]);
  deepEqual(await ask(store, 3), HELD);
  deepEqual(await ask(store, 1), WAITS, "now the last one");
  await end(store, 3);
  await end(store, 2); // parked still: nothing ends, and its turn goes to the next
  deepEqual(await standing(store, 2), { is: "ready" });
  deepEqual(await store.listAgentUse("default", T0), [{ agent: "claude", held: 1, waiting: 1 }]);
  deepEqual(await standing(store, 4), { is: "ready" });
});

eachStore("seats are those of a project, and any number where none is said", async (store) => {
  await running(store, 4);
  for (const n of [1, 2]) deepEqual(await ask(store, n, { seats: 2 }), HELD);
  deepEqual(await ask(store, 3, { seats: 2 }), WAITS);
  deepEqual(await ask(store, 4, { agents: ["codex"] }), { is: "held", agent: "codex" });
  deepEqual(await ask(store, 4, { seats: 3, position: 1 }), WAITS, "who waits is first");
  equal((await ask(store, 3, { seats: 3 })).is, "held", "the number that was said last counts");
  deepEqual(await ask(store, 1, { agents: ["free"], position: 1, seats: undefined }), {
    is: "held",
    agent: "free",
  });
});

eachStore(
  "a step gets the first agent that is not limited, and waits if all are",
  async (store) => {
    await running(store, 3);
    const agents = ["claude", "codex"];
    const limit = { project: "default", reason: "weekly limit" };
    deepEqual(await ask(store, 1, { agents }), HELD);
    deepEqual(await ask(store, 2, { agents }), WAITS, "for the preferred one");
    await park(store, 2);
    await store.noteLimit({ ...limit, agent: "claude", until: T0 + HOUR }, T0);
    deepEqual(await standing(store, 2), { is: "ready" }, "it may have another one now");
    await claim(store);
    deepEqual(await ask(store, 2, { agents }), { is: "held", agent: "codex" });
    deepEqual(await ask(store, 1, { agents }), { is: "waiting", agent: "codex", for: "seat" });
    await store.noteLimit({ ...limit, agent: "codex", until: T0 + 2 * HOUR }, T0);
    const first = { is: "limited", agent: "claude", until: T0 + HOUR } as const;
    deepEqual(await ask(store, 1, { agents }), first);
    deepEqual(await ask(store, 2, { agents }), first, "the turn that it held is over");
    deepEqual(await store.listAgentUse("default", T0 + 1), [
      {
        agent: "claude",
        held: 0,
        waiting: 0,
        limit: { until: T0 + HOUR, reason: "weekly limit" },
      },
      {
        agent: "codex",
        held: 0,
        waiting: 0,
        limit: { until: T0 + 2 * HOUR, reason: "weekly limit" },
      },
    ]);
    await park(store, 1, T0 + HOUR);
    deepEqual(await standing(store, 1), {
      is: "waiting",
      until: T0 + HOUR,
      agent: "claude",
      for: "limit",
    });
    deepEqual(await claimAt(store, T0), { tasks: [], nextAt: T0 + HOUR });
    deepEqual(await claimAt(store, T0 + HOUR), { tasks: [1], nextAt: undefined });
    deepEqual(await ask(store, 1, { agents, now: T0 + HOUR }), HELD);
    deepEqual((await store.listAgentUse("default", T0 + HOUR)).map(({ agent }) => agent), agents);
    await store.noteLimit({ ...limit, agent: "codex", until: T0 }, T0 + HOUR);
    deepEqual(await store.listAgentUse("default", T0 + HOUR), [
      { agent: "claude", held: 1, waiting: 0 },
    ]);
  },
);

eachStore(
  "a limit that is over before its time lets those go on that wait for it",
  async (store) => {
    await running(store, 2);
    const limit = { project: "default", agent: "claude", reason: "out of credits" };
    await store.noteLimit({ ...limit, until: T0 + HOUR }, T0);
    for (const n of [1, 2]) {
      equal((await ask(store, n)).is, "limited");
      await park(store, n, T0 + HOUR);
    }
    deepEqual((await claimAt(store, T0 + SEC)).tasks, []);
    await store.noteLimit({ ...limit, until: T0 + SEC }, T0 + SEC);
    deepEqual((await claimAt(store, T0 + SEC)).tasks, [1, 2]);
    deepEqual(await ask(store, 1, { now: T0 + SEC }), HELD);
  },
);

eachStore("a parked task keeps its room, its steps and its start", async (store) => {
  for (const n of [1, 2]) await accept(store, n, grouped("Queue"));
  await accept(store, 3, { task: { workspaceMax: 1, workspace: "small" } });
  await accept(store, 4, { task: { workspaceMax: 1, workspace: "small" } });
  await claim(store);
  for (const n of [1, 3]) {
    await store.parkTask(taskIdOf(n), { steps: [PAUSED], until: T0 + SEC, now: T0 });
  }
  const { waiting, ...others } = await store.counts();
  deepEqual([waiting, others.pending, others.queued, others.running], [2, 2, 2, 0]);
  deepEqual((await claimAt(store, T0)).tasks, []);
  const [one] = await store.findTasks(taskIdOf(1));
  deepEqual(one?.steps[0], PAUSED);
  deepEqual((await claimAt(store, T0 + SEC)).tasks, [1, 3]);
  deepEqual(await countsOf(store), { pending: 2, running: 2 });
  for (const n of [1, 3]) await end(store, n);
  deepEqual((await claimAt(store, T0 + SEC)).tasks, [2, 4]);
});

eachStore("no task is parked that nothing would wake", async (store) => {
  await running(store, 3);
  await park(store, 1);
  deepEqual(await standing(store, 1), { is: "ready" }, "it waits for nothing");
  await ask(store, 2);
  await ask(store, 3);
  await store.endTurn(taskIdOf(2), 5);
  await park(store, 3);
  deepEqual(await standing(store, 3), { is: "ready" }, "it got its turn just before");
  await claim(store);
  await store.cancelTask(taskIdOf(3), { reason: "stop", now: T0 });
  await park(store, 3, T0 + HOUR);
  deepEqual(await standing(store, 3), { is: "ready" }, "it is to be stopped");
});

eachStore(
  "a parked task that is cancelled or replaced gets a worker for its end",
  async (store) => {
    await accept(store, 1);
    await accept(store, 2, grouped("Replace"));
    await claim(store);
    for (const n of [1, 2]) await park(store, n, T0 + HOUR);
    equal(await store.cancelTask(taskIdOf(1), { reason: "stop", now: T0 }), "stopping");
    await accept(store, 3, grouped("Replace"));
    const { tasks } = await store.claimTasks(9, T0);
    deepEqual(tasks.map(({ task }) => [task.id, task.cancelReason]), [
      [taskIdOf(1), "stop"],
      [taskIdOf(2), `replaced by task ${taskIdOf(3)}`],
    ]);
  },
);

eachStore("a clock that was set back keeps no parked task and no limit", async (store) => {
  await running(store, 1);
  const ahead = T0 + 1000 * HOUR;
  const limit = { project: "default", agent: "claude", reason: "", until: ahead + HOUR };
  await store.noteLimit(limit, ahead);
  equal((await ask(store, 1, { now: ahead })).is, "limited");
  await park(store, 1, ahead + HOUR, ahead);
  deepEqual((await claimAt(store, T0)).tasks, [1]);
  deepEqual(await ask(store, 1), HELD);
});

eachStore(
  "turns outlive a restart, and what is left of an ended task is nobody's",
  async (store, tested) => {
    await running(store, 3);
    await ask(store, 1);
    await ask(store, 2);
    await park(store, 2);
    const again = await tested.restart();
    await again.claimInterrupted();
    deepEqual(await ask(again, 1), HELD);
    deepEqual(await ask(again, 3), WAITS);
    await again.finishTask({ taskId: taskIdOf(1), state: "failed", reason: "a fault", now: T0 });
    deepEqual(await ask(again, 3), WAITS);
    deepEqual(await standing(again, 2), { is: "ready" });
  },
);

eachStore("the session of a step is stored with it", async (store) => {
  await running(store, 1);
  const done = { ...step(0, "succeeded"), session: "s1" };
  await store.saveStep(taskIdOf(1), done);
  deepEqual((await store.findTasks(taskIdOf(1)))[0]?.steps[0], done);
});

eachStore("a daemon that is killed between two calls goes on where it was", async (_, tested) => {
  const agents = (cut: number) => ({ agents: [`agent-${cut}`], session: "s" });
  const held = async (n: number, cut: number) =>
    equal((await ask(tested.store, n, agents(cut))).is, "held");
  for (const cut of range(0, 9)) {
    const base = cut * 10;
    const [one, two] = [base + 1, base + 2];
    let calls = 0;
    /** Makes a call, after which the daemon may be killed; what it ran goes on. */
    const then = async (call: (store: Store) => Promise<unknown>): Promise<void> => {
      await call(tested.store);
      if (calls++ !== cut) return;
      await tested.restart();
      await tested.store.claimInterrupted();
    };
    for (const n of [one, two]) await accept(tested.store, n);
    await then((store) => claimAt(store, T0));
    await then(() => held(one, cut));
    await then((store) => ask(store, two, agents(cut)));
    await held(one, cut);
    equal((await ask(tested.store, two, agents(cut))).is, "waiting");
    await then((store) => park(store, two));
    await then((store) => store.endTurn(taskIdOf(one), 5, 0));
    await then((store) =>
      store.finishTask({ taskId: taskIdOf(one), state: "succeeded", reason: "", now: T0 })
    );
    await then((store) => claimAt(store, T0));
    await then(() => held(two, cut));
    await held(two, cut);
    await then((store) => end(store, two));
    deepEqual(await tested.store.listAgentUse("default", T0), []);
    deepEqual(await countsOf(tested.store), { pending: 0, running: 0 });
  }
});
