/**
 * A budget that two daemons share.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import type { AskedBudget } from "../../../src/store/budget_records.ts";
import type { Store } from "../../../src/store/store.ts";
import type { TurnAnswer } from "../../../src/store/turn_records.ts";
import { accept, taskIdOf } from "../../helpers/store_records.ts";
import { twoDaemonsTest } from "../../rigs/two_daemons.ts";
import { numberOf, range } from "../contract/each_store.ts";
import { HOUR, T0 } from "../contract/timed_tasks.ts";

const WINDOW = { startsAt: T0, endsAt: T0 + 24 * HOUR };
const budget: AskedBudget = {
  scope: "project/default",
  unit: "usd",
  per: "day",
  limit: 10_000_000,
  perRun: 100_000,
  fails: false,
  window: WINDOW,
};

const start = (store: Store, n: number): Promise<TurnAnswer> =>
  store.takeTurn({
    taskId: taskIdOf(n),
    position: 0,
    project: "default",
    agents: [{
      name: `agent${n % 7}`,
      budgets: [budget, { ...budget, scope: `trigger/${n % 3}` }],
    }],
    run: `run${n}`,
    now: T0,
  });

twoDaemonsTest(
  "of the steps on two nodes one asks for more, and a yes reaches the other node",
  async ({ a, b }) => {
    const asking = {
      ...budget,
      limit: 1,
      perRun: 1,
      unit: "runs",
      asks: { by: ["socket"], timeoutMs: HOUR },
    } as const;
    let runs = 0;
    const place = (n: number) => ({ taskId: taskIdOf(n), position: 0, project: "default" });
    const ask = (store: Store, n: number) =>
      store.takeTurn({
        ...place(n),
        agents: [{ name: "claude", budgets: [asking] }],
        run: `r${runs++}`,
        now: T0,
      });
    for (const n of range(0, 21)) await accept(a, n);
    const own = [(await a.claimTasks(11, T0)).tasks, (await b.claimTasks(11, T0)).tasks] as const;
    const [[used, ...ofA] = [], ofB = []] = own.map((some) =>
      some.map(({ task }) => numberOf(task.id))
    );
    await a.takeTurn({
      ...place(used ?? 0),
      agents: [{ name: "claude", budgets: [asking] }],
      run: "first",
      now: T0,
    });
    await a.settleRun({ ...place(used ?? 0), run: "first", usage: {}, now: T0 });
    await a.endTurn(taskIdOf(used ?? 0), 5);
    const all = [...ofA.map((n) => ({ n, store: a })), ...ofB.map((n) => ({ n, store: b }))];
    equal(all.length, 20);
    const answers = await Promise.all(all.map(({ n, store }) => ask(store, n)));
    const who = answers.flatMap((one, at) =>
      one.is === "limited" && one.asks !== undefined ? [at] : []
    );
    equal(who.length, 1);
    const { n, store } = all[who[0] ?? 0] ?? { n: 0, store: a };
    const other = store === a ? b : a;
    const digest = "0".repeat(64);
    const question = { digest, ask: "?", fields: {}, by: ["socket"], need: 1, fourEyes: false };
    const part = { kind: "approval", dueAt: T0 + HOUR, isRelative: true } as const;
    await store.openWait({
      ...place(n),
      round: 1,
      parts: [{ ...part, asked: { ...question, protection: "none" } }],
      now: T0,
    });
    const said = await other.answerWait({
      ...place(n),
      round: 1,
      key: "socket",
      called: "socket",
      identities: [],
      gone: [],
      mayBy: ["socket"],
      startedBy: [],
      surface: "cli",
      answer: "approved",
      digest,
      comment: "",
      fields: {},
      now: T0,
    });
    equal(said.is, "over");
    const again = await Promise.all(all.map((one) => ask(one.store, one.n)));
    const begun = again.filter(({ is }) => is === "held").length;
    equal(begun, 1, "as much again, once");
    deepEqual((await other.listBudgetUse("default")).map(({ granted }) => granted), [1]);
  },
);

twoDaemonsTest(
  "of 50 starts at 9.90 of 10 dollars on two nodes, one begins",
  async ({ a, b }) => {
    await accept(a, 0);
    await a.claimTasks(1, T0);
    equal((await start(a, 0)).is, "held");
    const ended = { taskId: taskIdOf(0), position: 0, project: "default", run: "run0", now: T0 };
    await a.settleRun({ ...ended, usage: { usd: 9_900_000 } });
    await a.endTurn(taskIdOf(0), 5);
    await a.finishTask({ taskId: taskIdOf(0), state: "succeeded", reason: "", now: T0 });
    for (const n of range(1, 51)) await accept(a, n);
    const tasksOf = async (store: Store) =>
      (await store.claimTasks(25, T0)).tasks.map(({ task }) => numberOf(task.id));
    const own = [await tasksOf(a), await tasksOf(b)] as const;
    const answers: TurnAnswer[] = [];
    for (let at = 0; at < 25; at += 5) {
      const some = range(at, at + 5);
      answers.push(
        ...await Promise.all([
          ...some.map((index) => start(a, own[0][index] ?? 0)),
          ...some.map((index) => start(b, own[1][index] ?? 0)),
        ]),
      );
    }
    deepEqual(
      ["held", "limited"].map((what) => answers.filter(({ is }) => is === what).length),
      [1, 49],
    );
    const uses = await b.listBudgetUse("default");
    const [all] = uses.filter(({ scope }) => scope === budget.scope);
    deepEqual([all?.spent, all?.reserved, all?.waiting], [9_900_000, 100_000, 49]);
  },
);
