/**
 * Turns and sessions that two daemons share: who gets them, where a parked task goes on, and what
 * becomes of those of a daemon that is gone.
 *
 * @module
 */

import {
  deepStrictEqual as deepEqual,
  notStrictEqual,
  ok,
  rejects,
  strictEqual as equal,
} from "node:assert/strict";
import type { Store } from "../../../src/store/store.ts";
import type { AgentSession } from "../../../src/store/turn_records.ts";
import { accept, step, STEPS, taskIdOf } from "../../helpers/store_records.ts";
import { type Ask, ask, end, park, standing } from "../contract/agent_tasks.ts";
import { numberOf, range } from "../contract/each_store.ts";
import { HOUR, SEC, T0 } from "../contract/timed_tasks.ts";
import { twoDaemonsTest } from "../../rigs/two_daemons.ts";

/** The results of its steps are on the machine that ran them. */
const LOCAL = planIn({ path: "workspaces/default" });
const TAKEN = { code: "conflict", message: `Task ${taskIdOf(1)} is run by another node now` };

function planIn(workspace: object) {
  const steps = STEPS.map((id) => ({ id }));
  return { hash: JSON.stringify(workspace), json: JSON.stringify({ steps, workspace }) };
}

async function claim(store: Store, limit = 99, now = T0): Promise<number[]> {
  const { tasks, interrupted = [] } = await store.claimTasks(limit, now);
  return [...tasks, ...interrupted].map(({ task }) => numberOf(task.id));
}

async function hold(store: Store, n: number, given: Ask = {}): Promise<AgentSession> {
  const answer = await ask(store, n, { session: "s", ...given });
  ok(answer.is === "held" && answer.session !== undefined, JSON.stringify(answer));
  return answer.session;
}

twoDaemonsTest("fifty takers on two daemons never have more than the seats", async ({ a, b }) => {
  const [seats, tasks] = [3, 50];
  await Promise.all(range(0, tasks).map((n) => accept(a, n)));
  const working = new Set<number>();
  const sessions = new Set<string>();
  const over: number[] = [];
  /** What a worker does with a task: asks, parks it, and works when it has its turn. */
  const work = async (store: Store, n: number): Promise<void> => {
    const session = n % 3 === 0 ? `s${n % 4}` : undefined;
    const given = session === undefined ? { seats } : { seats, session };
    const answer = await ask(store, n, given);
    if (answer.is !== "held") return await park(store, n);
    working.add(n);
    ok(working.size <= seats, `${working.size} at once`);
    if (session !== undefined) {
      ok(!sessions.has(session), `two in ${session}`);
      sessions.add(session);
    }
    await store.saveStep(taskIdOf(n), step(0, "running"));
    await store.saveStep(taskIdOf(n), step(0, "succeeded"));
    working.delete(n);
    if (session !== undefined) sessions.delete(session);
    await end(store, n);
    over.push(n);
  };
  const worker = async (store: Store): Promise<void> => {
    for (let looks = 0; over.length < tasks; looks++) {
      if (looks > 500) throw new Error(`Only ${over.length} ended`);
      await Promise.all((await claim(store, 7)).map((n) => work(store, n)));
    }
  };
  await Promise.all([worker(a), worker(b), worker(a), worker(b)]);
  deepEqual(over.toSorted((x, y) => x - y), range(0, tasks));
  deepEqual(await a.listAgentUse("default", T0), []);
});

twoDaemonsTest("a turn that comes while its task is parked is never missed", async ({ a, b }) => {
  for (const n of range(0, 60)) {
    const [mine, other] = [2 * n, 2 * n + 1];
    await accept(a, mine);
    await accept(a, other);
    deepEqual(await claim(a, 1), [mine]);
    deepEqual(await claim(b, 1), [other]);
    equal((await ask(a, mine)).is, "held");
    equal((await ask(b, other)).is, "waiting");
    await Promise.all([a.endTurn(taskIdOf(mine), 5), park(b, other)]);
    deepEqual(await claim(b, 1), [other], "it goes on");
    equal((await ask(b, other)).is, "held");
    for (const [store, task] of [[a, mine], [b, other]] as const) await end(store, task);
  }
});

twoDaemonsTest(
  "a cancellation that comes while its task is parked is never missed",
  async ({ a, b }) => {
    for (const n of range(0, 40)) {
      await accept(a, n);
      deepEqual(await claim(a, 1), [n]);
      await Promise.all([
        park(a, n, T0 + HOUR),
        b.cancelTask(taskIdOf(n), { reason: "stop", now: T0 }),
      ]);
      deepEqual(await claim(b, 1), [n]);
      await end(b, n);
    }
  },
);

twoDaemonsTest(
  "a session that goes on at another node begins anew, and its home is removed",
  async (daemons) => {
    const { a, b, sql } = daemons;
    for (const n of [1, 2, 3]) await accept(a, n);
    deepEqual(await claim(a, 1), [1]);
    deepEqual(await claim(b, 1), [2]);
    const there = await hold(a, 1);
    await a.saveSession(there.id, "conv");
    await end(a, 1);
    const here = await hold(b, 2);
    equal(here.movedFrom, "a");
    equal(here.agentId, undefined);
    notStrictEqual(here.id, there.id);
    deepEqual(await hold(b, 2), { id: here.id }, "said once");
    deepEqual(await b.pruneSessions(T0, 9), []);
    deepEqual(await a.findSessions([there.id]), [], "so its home, which is left there, goes");
    await end(b, 2);
    deepEqual(await a.pruneSessions(T0 + SEC, 9), [], "it is of another node");
    await sql((db) => db.run("UPDATE sessions SET node = 'gone'"));
    deepEqual(await a.pruneSessions(T0 + SEC, 9), [here.id], "of a node that is no more");
    deepEqual(await a.findSessions([here.id]), []);
    deepEqual(await claim(a, 1), [3]);
    equal((await hold(a, 3)).movedFrom, undefined);
  },
);

twoDaemonsTest("a daemon whose task was taken over ends no turn of it", async (daemons) => {
  const { a, b, sql } = daemons;
  for (const n of [1, 2]) await accept(a, n);
  deepEqual(await claim(a, 1), [1]);
  await hold(a, 1);
  await daemons.endLeaseOfA();
  await sql((db) => db.get("SELECT jobs_put_back(ARRAY[?])", taskIdOf(1)));
  deepEqual((await claim(b)).toSorted(), [1, 2]);
  const moved = await hold(b, 1);
  equal(moved.movedFrom, "a");
  await rejects(a.endTurn(taskIdOf(1), 5), TAKEN);
  await rejects(ask(a, 1, { session: "s" }), TAKEN);
  await rejects(park(a, 1, T0 + SEC), TAKEN);
  equal((await ask(b, 2)).is, "waiting");
  await b.endTurn(taskIdOf(1), 5);
  equal((await ask(b, 2)).is, "held");
});

twoDaemonsTest(
  "a parked task goes on where the results of its steps are",
  async ({ a, b, sql }) => {
    await accept(a, 1, { plan: LOCAL });
    await accept(a, 2);
    deepEqual(await claim(a), [1, 2]);
    for (const n of [1, 2]) await a.saveStep(taskIdOf(n), step(0, "succeeded"));
    for (const n of [1, 2]) await park(a, n, T0 + SEC);
    deepEqual(await claim(b, 9, T0 + SEC), [2]);
    deepEqual(await standing(b, 1), { is: "ready", onlyNode: "a" });
    deepEqual(await claim(a, 9, T0 + SEC), [1]);
    await park(a, 1, T0 + 2 * SEC);
    await b.forgetNode("a");
    const { tasks: [moved] } = await b.claimTasks(9, T0 + 2 * SEC);
    deepEqual([moved?.task.id, moved?.move], [
      taskIdOf(1),
      { from: "a", to: "b", isAnew: true },
    ]);
    deepEqual(moved?.task.steps.map(({ state }) => state), ["pending", "pending"]);
    for (const n of [1, 2]) await end(b, n);
    deepEqual(await sql((db) => db.all("SELECT id FROM svc_jobs.job")), []);
  },
);

twoDaemonsTest("nor is it kept by a node that is forgotten after it woke", async ({ a, b }) => {
  await accept(a, 1, { plan: LOCAL });
  deepEqual(await claim(a), [1]);
  await park(a, 1, T0 + SEC);
  deepEqual(await claim(b, 9, T0 + SEC), [], "woken here, for the other one");
  await b.forgetNode("a");
  deepEqual(await claim(b, 9, T0 + SEC), [1]);
});

twoDaemonsTest(
  "a task that begins anew elsewhere has no turn of a step it has not reached",
  async (daemons) => {
    const { a, b, sql } = daemons;
    await accept(a, 1, { plan: LOCAL });
    await accept(b, 2);
    deepEqual(await claim(a, 1), [1]);
    deepEqual(await claim(b, 1), [2]);
    await a.saveStep(taskIdOf(1), step(0, "succeeded"));
    equal((await ask(a, 1, { position: 1 })).is, "held");
    equal((await ask(b, 2)).is, "waiting");
    await park(b, 2);
    await daemons.endLeaseOfA();
    await sql((db) => db.get("SELECT jobs_put_back(ARRAY[?])", taskIdOf(1)));
    deepEqual(await claim(b, 1), [1]);
    deepEqual(await claim(b), [2], "its turn is free");
    equal((await ask(b, 2)).is, "held");
  },
);
