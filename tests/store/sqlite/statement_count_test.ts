/**
 * How many statements an event costs in the transaction that stores it: each webhook pays for them,
 * so a limit that a trigger does not have costs none, and a rule asks for no fact that it does not
 * need.
 *
 * @module
 */

import { deepStrictEqual as deepEqual } from "node:assert/strict";
import type { BudgetUnit } from "../../../src/resources/budget.ts";
import type { SqlValue } from "../../../src/store/sql/row.ts";
import { METHODS } from "../../../src/store/sqlite/methods.ts";
import type { NewTask, TaskConcurrency } from "../../../src/store/task_records.ts";
import { Watched, watched } from "./query_plans.ts";
import { accept, type Accepted, taskIdOf } from "../../helpers/store_records.ts";

/** Counts the statements that one piece of work runs. */
class Counted {
  readonly #db: Watched;
  #count = 0;

  constructor(db: Watched) {
    this.#db = db;
    for (const name of ["run", "get", "all"] as const) {
      const original = db[name].bind(db) as (sql: string, ...values: SqlValue[]) => never;
      db[name] = (sql: string, ...values: SqlValue[]) => {
        this.#count++;
        return original(sql, ...values);
      };
    }
  }

  async of(work: (db: Watched) => unknown): Promise<number> {
    this.#count = 0;
    await work(this.#db);
    return this.#count;
  }
}

const store = (db: Watched) => ({
  recordDelivery: (given: Parameters<typeof METHODS.recordDelivery>[1]) =>
    Promise.resolve(METHODS.recordDelivery(db, given)),
});

const group = (policy: TaskConcurrency["policy"], max = 1): Partial<NewTask> => ({
  concurrency: { policy, key: "", max },
});
const debounce: Partial<NewTask> = { debounce: { key: "", forMs: 10 } };
const rateLimit: Partial<NewTask> = { rateLimit: { perMinute: 60, reject: false } };

/** What an event has, the events before it, and the statements it then runs. */
const CASES: readonly {
  readonly what: string;
  readonly task: Partial<NewTask>;
  readonly before?: number;
  /** What the events before it have, where that differs. */
  readonly earlier?: Partial<NewTask>;
  readonly given?: Accepted;
  readonly statements: number;
}[] = [
  { what: "no limit and no key", task: {}, statements: 3 },
  { what: "a new key", task: { dedupKey: "k" }, statements: 6 },
  { what: "a key seen before", task: { dedupKey: "k" }, before: 1, statements: 2 },
  { what: "a new debounce key", task: debounce, statements: 4 },
  { what: "a debounce key that waits", task: debounce, before: 1, statements: 6 },
  { what: "a rate", task: rateLimit, statements: 5 },
  { what: "Forbid, free", task: group("Forbid"), statements: 6 },
  { what: "Forbid, busy", task: group("Forbid"), before: 1, statements: 2 },
  { what: "Queue, free", task: group("Queue"), statements: 5 },
  { what: "Queue, one runs", task: group("Queue"), before: 1, statements: 5 },
  { what: "Queue, others wait", task: group("Queue"), before: 5, statements: 4 },
  {
    what: "Queue, others wait with another limit",
    task: group("Queue", 2),
    before: 5,
    earlier: group("Queue", 1),
    statements: 11,
  },
  { what: "Replace, free", task: group("Replace"), statements: 6 },
  { what: "Replace, one waits", task: group("Replace"), before: 1, statements: 10 },
  { what: "maxParallel, free", task: { workspaceMax: 1 }, statements: 5 },
  { what: "maxParallel, full", task: { workspaceMax: 1 }, before: 1, statements: 5 },
  { what: "something is missing", task: {}, given: { plan: undefined }, statements: 2 },
];

for (const { what, task, before = 0, earlier = task, given = {}, statements } of CASES) {
  Deno.test(`an event with ${what}: ${statements} statements`, async () => {
    await watched(async (db) => {
      await accept(store(db), 900, { trigger: "other" }); // its plan is stored
      for (let n = 0; n < before; n++) await accept(store(db), n, { task: earlier });
      const counted = new Counted(db);
      deepEqual(await counted.of(() => accept(store(db), 800, { ...given, task })), statements);
    });
  });
}

Deno.test("of the events of one transaction, only the first looks for a plan that is stored", async () => {
  await watched(async (db) => {
    await accept(store(db), 900, { trigger: "other" });
    const counted = new Counted(db);
    const four = () =>
      db.transaction(() => Promise.all([1, 2, 3, 4].map((n) => accept(store(db), n))));
    // BEGIN, two rows an event, the plan's use by the first, that by the others, COMMIT.
    deepEqual(await counted.of(four), 1 + 4 * 2 + 2 + 1);
    const [{ tasks } = {}] = db.all("SELECT tasks FROM plan_uses");
    deepEqual(tasks, 5);
  });
});

/** The same for the end of a task, while others wait for its room. */
const ENDS: readonly {
  what: string;
  task: Partial<NewTask>;
  waiting: number;
  statements: number;
}[] = [
  { what: "no limit", task: {}, waiting: 0, statements: 1 },
  { what: "a group", task: group("Queue"), waiting: 0, statements: 2 },
  { what: "a group, one waits", task: group("Queue"), waiting: 1, statements: 6 },
  { what: "a group, others wait", task: group("Queue"), waiting: 3, statements: 8 },
  { what: "maxParallel, others wait", task: { workspaceMax: 1 }, waiting: 3, statements: 8 },
];

for (const { what, task, waiting, statements } of ENDS) {
  Deno.test(`the end of a task with ${what}: ${statements} statements`, async () => {
    await watched(async (db) => {
      for (let n = 0; n <= waiting; n++) await accept(store(db), n, { task });
      await METHODS.claimTasks(db, 1, 1);
      const counted = new Counted(db);
      const end = { taskId: taskIdOf(0), state: "succeeded", reason: "", now: 1 } as const;
      deepEqual(await counted.of(() => METHODS.finishTask(db, end)), statements);
    });
  });
}

/** The same for the turn of an agent, from its beginning to its end. */
const TURNS: readonly { what: string; budgets: readonly BudgetUnit[]; statements: number }[] = [
  { what: "no budget", budgets: [], statements: 14 },
  { what: "one budget", budgets: ["runs"], statements: 24 },
  { what: "three budgets", budgets: ["runs", "tokens", "usd"], statements: 28 },
];

for (const { what, budgets, statements } of TURNS) {
  Deno.test(`a run of an agent with ${what}: ${statements} statements`, async () => {
    await watched(async (db) => {
      await accept(store(db), 1);
      await METHODS.claimTasks(db, 1, 1);
      const counted = new Counted(db);
      const window = { startsAt: 0, endsAt: 9 };
      const amounts = { scope: "agent/a", per: "day", limit: 9, perRun: 1 } as const;
      const asked = budgets.map((unit) => ({ ...amounts, unit, fails: false, window }));
      const place = { taskId: taskIdOf(1), position: 0, project: "default", now: 5 };
      const run = budgets.length === 0 ? {} : { run: "1" };
      const agents = [{ name: "a", seats: 1, ...budgets.length === 0 ? {} : { budgets: asked } }];
      const work = async () => {
        await METHODS.takeTurn(db, { ...place, agents, ...run });
        if (budgets.length > 0) await METHODS.settleRun(db, { ...place, run: "1", usage: {} });
        await METHODS.endTurn(db, place.taskId, 5, 0);
      };
      deepEqual(await counted.of(work), statements);
    });
  });
}
