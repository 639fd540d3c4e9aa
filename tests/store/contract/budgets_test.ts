/**
 * Budgets: what is set aside, what is counted, who waits, and what a crash leaves, in each gap.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { defined } from "../../../src/base/defined.ts";
import type { AskedBudget, BudgetNews, RunUsage } from "../../../src/store/budget_records.ts";
import type { Store } from "../../../src/store/store.ts";
import type { TurnAnswer } from "../../../src/store/turn_records.ts";
import { accept, taskIdOf } from "../../helpers/store_records.ts";
import { end, park, standing } from "./agent_tasks.ts";
import { eachStore, range } from "./each_store.ts";
import { claimAt, HOUR, SEC, T0 } from "./timed_tasks.ts";

const WINDOW = { startsAt: T0 - HOUR, endsAt: T0 + 23 * HOUR };
const usd = (limit: number, perRun: number, more: Partial<AskedBudget> = {}): AskedBudget => ({
  scope: "agent/claude",
  unit: "usd",
  per: "day",
  limit,
  perRun,
  fails: false,
  window: WINDOW,
  ...more,
});
const ofProject = (limit: number, perRun: number) =>
  usd(limit, perRun, { scope: "project/default" });

interface Start {
  readonly budgets?: readonly AskedBudget[];
  readonly run?: string;
  readonly now?: number;
  readonly seats?: number;
  readonly others?: readonly { readonly name: string; readonly budgets?: readonly AskedBudget[] }[];
}

/** The step of task `n` asks to start its agent. */
function start(
  store: Store,
  n: number,
  { budgets = [usd(100, 10)], run = `run${n}`, now = T0, seats, others = [] }: Start = {},
): Promise<TurnAnswer> {
  return store.takeTurn({
    taskId: taskIdOf(n),
    position: 0,
    project: "default",
    agents: [{ name: "claude", budgets, ...defined({ seats }) }, ...others],
    run,
    now,
  });
}

/** As many at once as a node has workers. */
async function startAll(store: Store, count: number, given?: Start): Promise<TurnAnswer[]> {
  const answers: TurnAnswer[] = [];
  for (let first = 1; first <= count; first += 10) {
    const some = range(first, Math.min(first + 10, count + 1));
    answers.push(...await Promise.all(some.map((n) => start(store, n, given))));
  }
  return answers;
}

function settle(
  store: Store,
  n: number,
  usage: RunUsage | undefined,
  run = `run${n}`,
): Promise<readonly BudgetNews[]> {
  const place = { taskId: taskIdOf(n), position: 0, project: "default" };
  return store.settleRun({ ...place, run, now: T0, ...defined({ usage }) });
}

/** Spent, set aside, of unknown cost, waiting: of the only budget, or that of a scope. */
async function used(store: Store, scope = "agent/claude"): Promise<readonly number[]> {
  const use = (await store.listBudgetUse("default")).find((one) => one.scope === scope);
  return use === undefined ? [] : [use.spent, use.reserved, use.unknown, use.waiting];
}

/** Stores tasks, all of them claimed. */
async function running(store: Store, count: number): Promise<void> {
  for (const n of range(1, count + 1)) await accept(store, n);
  await claimAt(store, T0);
}

eachStore(
  "what a run may use is set aside, and what it used counts in its place",
  async (store) => {
    await running(store, 1);
    deepEqual(await start(store, 1), { is: "held", agent: "claude" });
    deepEqual(await start(store, 1), { is: "held", agent: "claude" }, "its answer was lost");
    deepEqual(await used(store), [0, 10, 0, 0]);
    deepEqual(await settle(store, 1, { usd: 3 }), []);
    deepEqual(await settle(store, 1, { usd: 3 }), [], "once");
    deepEqual(await used(store), [3, 0, 0, 0]);
    await store.endTurn(taskIdOf(1), 5, 0);
    deepEqual(await used(store), [3, 0, 0, 0]);
  },
);

eachStore("of 50 starts with room for one, one begins, and the others wait", async (store) => {
  const budgets = [usd(10_000_000, 100_000)];
  await running(store, 51);
  equal((await start(store, 51, { budgets })).is, "held");
  await settle(store, 51, { usd: 9_900_000 });
  await store.endTurn(taskIdOf(51), 5);
  const answers = await startAll(store, 50, { budgets });
  equal(answers.filter(({ is }) => is === "held").length, 1);
  const limited = answers.filter(({ is }) => is === "limited");
  equal(limited.length, 49);
  for (const answer of limited) {
    const { news: _news, ...rest } = answer;
    const until = WINDOW.endsAt;
    deepEqual(rest, { is: "limited", agent: "claude", until, budget: budgets[0] });
  }
  equal(limited.flatMap(({ news = [] }) => news).length, 1, "people are told once");
  deepEqual(await used(store), [9_900_000, 100_000, 0, 49]);
});

eachStore("all budgets of a run need room, and none takes part of it alone", async (store) => {
  await running(store, 3);
  const budgets = [usd(100, 10), ofProject(15, 10)];
  equal((await start(store, 1, { budgets })).is, "held");
  const second = await start(store, 2, { budgets });
  equal(second.is === "limited" && second.budget?.scope, "project/default");
  deepEqual(await used(store), [0, 10, 0, 1]);
  deepEqual(await used(store, "project/default"), [0, 10, 0, 1]);
  equal((await start(store, 3)).is, "held", "another trigger, without that budget");
});

eachStore(
  "a run that was killed counts as perRun, and the next one asks for more",
  async (store) => {
    await running(store, 2);
    await start(store, 1);
    equal((await start(store, 1, { run: "after the crash" })).is, "held");
    deepEqual(await used(store), [10, 10, 1, 0]);
    deepEqual(await settle(store, 1, { usd: 1 }), [], "that of the dead run says nothing now");
    deepEqual(await used(store), [10, 10, 1, 0]);
    await settle(store, 1, { usd: 2 }, "after the crash");
    deepEqual(await used(store), [12, 0, 1, 0]);
    await start(store, 2);
    await end(store, 2); // its task ends without an end of its run
    deepEqual(await used(store), [22, 0, 2, 0]);
  },
);

eachStore("a run that never began counts for nothing", async (store) => {
  await running(store, 1);
  await start(store, 1);
  await settle(store, 1, undefined);
  deepEqual(await used(store), [0, 0, 0, 0]);
});

eachStore("who waits goes on when a run has used less than was set aside", async (store) => {
  await running(store, 3);
  const budgets = [usd(10, 10)];
  await start(store, 1, { budgets });
  for (const n of [2, 3]) {
    equal((await start(store, n, { budgets })).is, "limited");
    await park(store, n, WINDOW.endsAt);
  }
  deepEqual(await standing(store, 2), {
    is: "waiting",
    until: WINDOW.endsAt,
    agent: "claude",
    for: "budget",
  });
  await settle(store, 1, undefined);
  deepEqual(await standing(store, 2), { is: "ready" }, "who asked first");
  equal((await store.findTasks(taskIdOf(3)))[0]?.state, "waiting", "there is no room for both");
  deepEqual((await claimAt(store, T0)).tasks, [2]);
  equal((await start(store, 2, { budgets })).is, "held");
  await store.askBudgetsAgain("default", 5);
  deepEqual(await standing(store, 3), { is: "ready" }, "the budget was changed");
});

eachStore("room that comes before a task is parked lets it go on", async (store) => {
  await running(store, 2);
  const budgets = [usd(10, 10)];
  await start(store, 1, { budgets });
  await start(store, 2, { budgets });
  await settle(store, 1, { usd: 0 });
  await park(store, 2, WINDOW.endsAt);
  deepEqual(await standing(store, 2), { is: "ready" });
  await claimAt(store, T0);
  equal((await start(store, 2, { budgets })).is, "held");
});

eachStore(
  "a window begins empty, and a run of the last one does not count in it",
  async (store) => {
    await running(store, 2);
    await start(store, 1);
    const now = WINDOW.endsAt;
    const window = { startsAt: now, endsAt: now + 24 * HOUR };
    const next = [usd(10, 10, { window })];
    equal((await start(store, 2, { budgets: next, now })).is, "held");
    await settle(store, 1, { usd: 7 });
    deepEqual(await used(store), [0, 10, 0, 0]);
    // the clock is set back: the newest window counts
    await accept(store, 3);
    await claimAt(store, now);
    equal((await start(store, 3, { budgets: [usd(10, 10)], now: now - SEC })).is, "limited");
  },
);

eachStore(
  "where an agent has no room the next one takes over, and who fails is asked last",
  async (store) => {
    await running(store, 2);
    const budgets = [usd(10, 10, { fails: true })];
    const others = [{ name: "codex" }];
    equal((await start(store, 1, { budgets, others })).is, "held");
    const second = await start(store, 2, { budgets, others });
    equal(second.is === "held" && second.agent, "codex");
    equal(second.news?.length, 1);
    await store.noteLimit({ project: "default", agent: "codex", until: T0 + HOUR, reason: "" }, T0);
    const limited = await start(store, 2, { budgets, others, run: "again" });
    deepEqual(limited, { is: "limited", agent: "codex", until: T0 + HOUR });
    const failed = await start(store, 2, { budgets, run: "alone" });
    equal(failed.is === "limited" && failed.budget?.fails, true);
    deepEqual(await used(store), [0, 10, 0, 0], "who fails does not wait");
  },
);

eachStore("who is in the queue of an agent sets nothing aside before its turn", async (store) => {
  await running(store, 2);
  await start(store, 1, { seats: 1 });
  equal((await start(store, 2, { seats: 1 })).is, "waiting");
  deepEqual(await used(store), [0, 10, 0, 0]);
  await settle(store, 1, { usd: 95 });
  await store.endTurn(taskIdOf(1), 5, 0);
  equal((await start(store, 2, { seats: 1 })).is, "limited", "its turn came, and no room");
  deepEqual((await store.listAgentUse("default", T0)).map(({ held }) => held), [0]);
});

eachStore(
  "people are told once a window: at 80 %, and when a step finds no room",
  async (store) => {
    await running(store, 4);
    const told = (news: readonly BudgetNews[] = []) => news.map(({ percent }) => percent);
    await start(store, 1);
    deepEqual(told(await settle(store, 1, { usd: 79 })), []);
    await start(store, 2);
    const near = await settle(store, 2, { usd: 2 });
    deepEqual(near, [{ budget: near[0]?.budget, percent: 80, spent: 81, reserved: 0 }]);
    await start(store, 3);
    deepEqual(told(await settle(store, 3, { usd: 15 })), []);
    deepEqual(told((await start(store, 4)).news), [100]);
    deepEqual(told((await start(store, 4)).news), []);
  },
);
