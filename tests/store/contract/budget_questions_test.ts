/**
 * Questions whether more of a budget may be used: asked once for all who wait, counted once, and decided by
 * nobody but people, whatever is killed in between.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { AskedBudget } from "../../../src/store/budget_records.ts";
import type { AskedApproval } from "../../../src/store/approval_records.ts";
import type { Store } from "../../../src/store/store.ts";
import type { TurnAnswer } from "../../../src/store/turn_records.ts";
import { accept, taskIdOf } from "../../helpers/store_records.ts";
import { end, standing } from "./agent_tasks.ts";
import { eachStore, range } from "./each_store.ts";
import { claimAt, HOUR, SEC, T0 } from "./timed_tasks.ts";

const WINDOW = { startsAt: T0 - HOUR, endsAt: T0 + 23 * HOUR };
const LIMIT = 2;
const budget = (more: Partial<AskedBudget> = {}): AskedBudget => ({
  scope: "agent/claude",
  unit: "runs",
  per: "day",
  limit: LIMIT,
  perRun: 1,
  fails: false,
  asks: { by: ["@ops"], timeoutMs: HOUR },
  window: WINDOW,
  ...more,
});

let runs = 0;

/** The step of task `n` asks to start its agent. */
function start(
  store: Store,
  n: number,
  own: AskedBudget = budget(),
  now = T0,
): Promise<TurnAnswer> {
  return store.takeTurn({
    taskId: taskIdOf(n),
    position: 0,
    project: "default",
    agents: [{ name: "claude", budgets: [own] }],
    run: `run${n}.${runs++}`,
    now,
  });
}

/** A run of task `n` from its start to its end. */
async function work(store: Store, n: number): Promise<void> {
  const run = `work${n}.${runs++}`;
  const place = { taskId: taskIdOf(n), position: 0, project: "default" };
  const budgets = [budget()];
  await store.takeTurn({ ...place, agents: [{ name: "claude", budgets }], run, now: T0 });
  await store.settleRun({ ...place, run, usage: {}, now: T0 });
  await store.endTurn(taskIdOf(n), 5, 0);
}

const QUESTION: AskedApproval = {
  digest: "7f3a91c2".padEnd(64, "0"),
  ask: "Another 2 runs today?",
  fields: {},
  by: ["@ops"],
  need: 1,
  fourEyes: false,
  protection: "sandbox",
};

/** Opens the question of task `n`, and parks it. */
async function ask(store: Store, n: number, dueAt = T0 + HOUR): Promise<void> {
  const asked = JSON.parse(JSON.stringify(QUESTION));
  await store.openWait({
    taskId: taskIdOf(n),
    position: 0,
    round: 1,
    project: "default",
    parts: [{ kind: "approval", dueAt, isRelative: true, asked }],
    now: T0,
  });
  await store.parkTask(taskIdOf(n), { steps: [], until: dueAt, now: T0, waits: [0] });
}

/** Parks task `n`, which waits for the answer to another one. */
const park = (store: Store, n: number) =>
  store.parkTask(taskIdOf(n), { steps: [], until: WINDOW.endsAt, now: T0 });

const answer = (store: Store, n: number, said: "approved" | "rejected", now = T0 + SEC) =>
  store.answerWait({
    taskId: taskIdOf(n),
    position: 0,
    round: 1,
    key: "person:ada",
    person: "ada",
    identities: [],
    gone: [],
    mayBy: ["@ops"],
    startedBy: [],
    called: "ada",
    surface: "cli",
    answer: said,
    digest: QUESTION.digest,
    comment: "",
    fields: {},
    now,
  });

const question = async (store: Store, n: number) =>
  (await store.findApproval({ taskId: taskIdOf(n), position: 0 }))?.end?.by;
const use = async (store: Store) => (await store.listBudgetUse("default"))[0];
const does = ({ is, ...more }: TurnAnswer) =>
  is !== "limited"
    ? is
    : "asks" in more
    ? "asks"
    : "fails" in more
    ? `fails: ${more.fails}`
    : "waits";

/** Tasks of which the budget is used up: 1 asks, the others wait. */
async function usedUp(store: Store, count: number): Promise<void> {
  for (const n of range(1, count + 10)) await accept(store, n);
  await claimAt(store, T0);
  for (const n of [count + 1, count + 2]) await work(store, n);
  for (const n of range(1, count + 1)) {
    equal(does(await start(store, n)), n === 1 ? "asks" : "waits");
    if (n === 1) await ask(store, n);
    else await park(store, n);
  }
}

eachStore(
  "of those who wait for a budget one asks, and a yes lets as much again be used",
  async (store) => {
    await usedUp(store, 4);
    deepEqual((await store.listApprovals({ limit: 9 })).map(({ taskId }) => taskId), [taskIdOf(1)]);
    const wait = { position: 0, kind: "approval" };
    deepEqual(await standing(store, 1), { is: "waiting", until: T0 + HOUR, wait });
    deepEqual(await answer(store, 1, "approved"), { is: "over", answer: "approved" });
    equal((await use(store))?.granted, 0, "it counts when its step asks again");
    deepEqual((await claimAt(store, T0 + SEC)).tasks, [1]);
    equal(does(await start(store, 1)), "held");
    deepEqual([(await use(store))?.granted, (await use(store))?.reserved], [LIMIT, 1]);
    equal(does(await start(store, 1)), "held", "after a crash: it counts as perRun, and once");
    equal((await use(store))?.granted, LIMIT);
    deepEqual((await claimAt(store, T0 + SEC)).tasks, [2, 3, 4], "the others look again");
    // the crash has used one of the two
    deepEqual([does(await start(store, 2)), does(await start(store, 3))], ["waits", "waits"]);
    await park(store, 2);
    await park(store, 3);
    const place = { taskId: taskIdOf(1), position: 0 };
    await store.endTurn(place.taskId, 5, place.position);
    deepEqual((await claimAt(store, T0 + SEC)).tasks, [2, 3], "now one can ask again");
    equal(does(await start(store, 2)), "asks");
    equal(does(await start(store, 3)), "waits");
  },
);

eachStore("a no fails all who wait, and those who come later in the window", async (store) => {
  await usedUp(store, 3);
  await answer(store, 1, "rejected");
  await claimAt(store, T0 + SEC);
  const no = "fails: more was rejected by ada";
  equal(does(await start(store, 1)), no);
  deepEqual((await claimAt(store, T0 + SEC)).tasks, [2, 3]);
  deepEqual([does(await start(store, 2)), does(await start(store, 3))], [no, no]);
  equal(does(await start(store, 6)), no);
  equal((await use(store))?.refused, "more was rejected by ada");
  equal(does(await start(store, 6, budget({ limit: 5 }))), "held", "who raises the limit");
  const window = { startsAt: WINDOW.endsAt, endsAt: WINDOW.endsAt + 24 * HOUR };
  equal(does(await start(store, 3, budget({ window }), WINDOW.endsAt)), "held");
  deepEqual([(await use(store))?.refused, (await use(store))?.granted], [undefined, 0]);
});

eachStore("nobody answers in time: that is no yes", async (store) => {
  await usedUp(store, 2);
  const late = T0 + HOUR;
  deepEqual((await claimAt(store, late)).tasks, [1]);
  equal(does(await start(store, 1, budget(), late)), "asks", "its time is judged by its wait");
  const { end: ended } = await store.openWait({
    taskId: taskIdOf(1),
    position: 0,
    round: 1,
    project: "default",
    parts: [],
    now: late,
  });
  equal(ended?.by, "time");
  equal(does(await start(store, 1, budget(), late)), "fails: nobody has allowed more in time");
  deepEqual((await claimAt(store, late)).tasks, [2]);
  equal(does(await start(store, 2, budget(), late)), "fails: nobody has allowed more in time");
  equal((await answer(store, 1, "approved", late + SEC)).is, "was over");
});

eachStore(
  "whose window ends goes on in the next one, and its question is taken back",
  async (store) => {
    await usedUp(store, 2);
    const now = WINDOW.endsAt;
    const window = { startsAt: now, endsAt: now + 24 * HOUR };
    await claimAt(store, now);
    equal(does(await start(store, 1, budget({ window }), now)), "held");
    equal(await question(store, 1), "budget");
    equal((await answer(store, 1, "approved", now)).is, "was over");
  },
);

for (
  const [what, change] of [
    ["the limit is raised", { limit: 9 }],
    ["nobody is asked any more", { fails: true, asks: undefined }],
  ] as const
) {
  eachStore(`a question is taken back when ${what}`, async (store) => {
    await usedUp(store, 2);
    await store.askBudgetsAgain("default", 5);
    deepEqual((await claimAt(store, T0)).tasks, [1, 2]);
    const { asks: _asks, ...plain } = budget();
    const next = "limit" in change ? budget(change) : { ...plain, fails: true };
    equal(does(await start(store, 1, next)), "limit" in change ? "held" : "fails: ");
    equal(await question(store, 1), "budget");
  });
}

eachStore(
  "other people are asked when a budget names them, and the old answer says so",
  async (store) => {
    await usedUp(store, 2);
    await store.askBudgetsAgain("default", 5);
    await claimAt(store, T0);
    const next = budget({ asks: { by: ["ada"], timeoutMs: HOUR } });
    equal(does(await start(store, 1, next)), "asks");
    equal((await store.listApprovals({ limit: 9 })).length, 0, "until its step asks anew");
    equal((await answer(store, 1, "approved")).is, "none");
    await ask(store, 1);
    equal((await store.listApprovals({ limit: 9 })).length, 1);
    equal(does(await start(store, 2, next)), "waits");
  },
);

for (const said of ["nothing", "approved"] as const) {
  eachStore(`the task that asks ends, and was told ${said}: the next one knows`, async (store) => {
    await usedUp(store, 3);
    if (said === "approved") await answer(store, 1, said);
    await store.cancelTask(taskIdOf(1), { reason: "enough", now: T0 + SEC });
    await claimAt(store, T0 + SEC);
    await end(store, 1);
    equal((await use(store))?.granted, said === "approved" ? LIMIT : 0);
    deepEqual((await claimAt(store, T0 + SEC)).tasks, [2, 3]);
    equal(does(await start(store, 2)), said === "approved" ? "held" : "asks");
  });
}

eachStore("a step asks anew when what it was allowed is used up", async (store) => {
  await usedUp(store, 1);
  await answer(store, 1, "approved");
  await claimAt(store, T0 + SEC);
  equal(does(await start(store, 1)), "held");
  for (const n of [4, 5]) await work(store, n);
  equal(does(await start(store, 1)), "asks", "its run was killed");
  equal((await answer(store, 1, "approved")).is, "none", "the old yes counts once");
  await ask(store, 1);
  equal((await answer(store, 1, "approved", T0 + 2 * SEC)).is, "over");
});

eachStore("people are not asked while a run may give back what is set aside", async (store) => {
  for (const n of range(1, 5)) await accept(store, n);
  await claimAt(store, T0);
  const usd = budget({ unit: "usd", limit: 10, perRun: 10 });
  const run = async (n: number, name: string) =>
    await store.takeTurn({
      taskId: taskIdOf(n),
      position: 0,
      project: "default",
      agents: [{ name: "claude", budgets: [usd] }],
      run: name,
      now: T0,
    });
  await run(1, "first");
  equal(does(await run(2, "second")), "waits");
  await park(store, 2);
  equal(does(await run(3, "third")), "waits");
  await park(store, 3);
  const place = { taskId: taskIdOf(1), position: 0, project: "default", run: "first" };
  await store.settleRun({ ...place, usage: { usd: 4 }, now: T0 });
  deepEqual((await claimAt(store, T0)).tasks, [2], "one of them can ask");
  equal(does(await run(2, "again")), "asks");
});
