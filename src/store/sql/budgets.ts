/**
 * The table `spend`, and what the rows of `turns` set aside, written once for both databases.
 * `rules/budgets.ts` decides. All budgets of a project change under one lock. What is set aside stands
 * in the turn of its step and nowhere else, so a crash leaves no counter wrong.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import type {
  AskedBudget,
  AskedMore,
  BudgetNews,
  EndedRun,
  RunUsage,
  Spend,
} from "../budget_records.ts";
import type { EndedWait } from "../wait_records.ts";
import {
  answered,
  decisiveBudget,
  hasRoom,
  isNearEnd,
  isSameBudget,
  newestSpend,
  type Reservation,
  reservedIn,
  settled,
  type StoredSpend,
  type WithoutRoom,
  withoutRoom,
} from "../rules/budgets.ts";
import { json, number, storable, text } from "./columns.ts";
import type { Row } from "./row.ts";
import type { SqlSession } from "./session.ts";

/** What differs between the databases. */
export interface BudgetHost<Db extends SqlSession> {
  /** See `TurnHost` in `turns.ts`. */
  wake(db: Db, taskIds: readonly string[], now: number): void | Promise<void>;
}

/** The step whose turn has something set aside, or waits for a budget. */
export interface StepPlace {
  readonly taskId: string;
  readonly position: number;
}

/** A budget without room. */
export interface Lacking extends StoredSpend {
  readonly budget: AskedBudget;
  readonly reserved: number;
  readonly does: WithoutRoom;
}

/** Name of the lock of all budgets of a project. */
export const budgetLock = (project: string) => `budgets/${project}`;

/** The budgets of one project within a transaction that has their lock. */
export class BudgetLedger {
  readonly #db: SqlSession;
  readonly #project: string;
  readonly #now: number;
  #spends: readonly StoredSpend[];
  #reservations: readonly (StepPlace & { readonly of: readonly Reservation[] })[];
  #questions: readonly (StepPlace & { readonly asks: AskedMore })[];
  readonly #news: BudgetNews[] = [];

  private constructor(
    db: SqlSession,
    { project, now }: { readonly project: string; readonly now: number },
    { spends, turns }: { readonly spends: readonly Row[]; readonly turns: readonly Row[] },
  ) {
    this.#db = db;
    this.#project = project;
    this.#now = now;
    this.#spends = spends.map(toSpend);
    this.#reservations = turns.filter((row) => row["state"] === "held")
      .map((row) => ({ ...toPlace(row), of: json(row, "budgets") as Reservation[] }));
    this.#questions = turns.filter((row) => row["asks"] !== null)
      .map((row) => ({ ...toPlace(row), asks: json(row, "asks") as AskedMore }));
  }

  /** Reads them; the caller has the lock. */
  static async open(
    db: SqlSession,
    given: { readonly project: string; readonly now: number },
  ): Promise<BudgetLedger> {
    const spends = await db.all("SELECT * FROM spend WHERE project = ?", given.project);
    const turns = await db.all(
      `SELECT task_id, position, state, budgets, asks FROM turns
       WHERE project = ? AND budgets IS NOT NULL AND (state = 'held' OR asks IS NOT NULL)`,
      given.project,
    );
    return new BudgetLedger(db, given, { spends, turns });
  }

  /** What people are to be told, each once. */
  get news(): readonly BudgetNews[] {
    return this.#news;
  }

  /** Those of these budgets that have no room for another run. */
  lacking(asked: readonly AskedBudget[]): readonly Lacking[] {
    return asked.flatMap((budget) => {
      const spend = this.#spendOf(budget);
      const { reserved } = reservedIn(spend, this.#reservations.flatMap(({ of }) => of));
      if (hasRoom(budget, { ...spend, reserved })) return [];
      const isAsked = this.#questions.some(({ asks }) =>
        isSameBudget(asks, spend) && asks.startsAt === spend.window.startsAt
      );
      return [{ ...spend, budget, reserved, does: withoutRoom(budget, spend, isAsked) }];
    });
  }

  /** Forgets that a step asks for more; `end` is how its question has ended, if it has. */
  async closeQuestion(place: StepPlace, asks: AskedMore, end?: EndedWait): Promise<void> {
    this.#questions = this.#questions.filter((one) => !isSamePlace(one, place));
    const stored = this.#spends.find((one) =>
      isSameBudget(one, asks) && one.window.startsAt === asks.startsAt
    );
    if (stored === undefined || end === undefined) return;
    const spend = answered(stored, asks, end);
    if (spend !== stored) await this.#save(spend);
  }

  /** The steps beside this one that wait for a budget of which people can be asked for more. */
  async findAskers(beside: StepPlace): Promise<readonly StepPlace[]> {
    const waiting = await findLimited(this.#db, this.#project);
    return waiting.filter(({ options, ...place }) =>
      !isSamePlace(place, beside) && options.flat().some(({ asks }) => asks !== undefined)
    );
  }

  /** Tells, once a window, that a step was refused for want of this budget. */
  async tellReached({ budget, reserved, does: _does, ...spend }: Lacking): Promise<void> {
    const { spent, told } = this.#spendOf(budget);
    if (told >= 100) return;
    this.#news.push({ budget, percent: 100, spent, reserved });
    await this.#save({ ...spend, told: 100 });
  }

  /** Sets aside in each of these budgets what a run is expected to use. */
  async reserve(place: StepPlace, run: string, asked: readonly AskedBudget[]): Promise<void> {
    const of: Reservation[] = [];
    for (const budget of asked) {
      const { scope, unit, per, perRun, limit } = budget;
      const spend = this.#spendOf(budget);
      of.push({ scope, unit, per, perRun, limit, startsAt: spend.window.startsAt });
      if (!this.#spends.includes(spend)) await this.#save(spend);
    }
    this.#reservations = [...this.#reservations, { ...place, of }];
    await this.#db.run(
      "UPDATE turns SET run = ?, budgets = ? WHERE task_id = ? AND position = ?",
      run,
      JSON.stringify(of),
      place.taskId,
      place.position,
    );
  }

  /** Counts what a run has used in the place of what was set aside; `usage` as in {@linkcode settled}. */
  async settle(
    place: StepPlace,
    usage: RunUsage | undefined,
    { tells = true } = {},
  ): Promise<void> {
    const own = this.#reservations.find((one) => isSamePlace(one, place));
    if (own === undefined) return;
    this.#reservations = this.#reservations.filter((one) => one !== own);
    for (const reservation of own.of) {
      const stored = this.#spends.find((one) => isSameBudget(one, reservation));
      if (stored === undefined) continue;
      const spend = settled(stored, reservation, usage);
      const limit = reservation.limit + spend.granted;
      const isNews = tells && spend !== stored && isNearEnd(spend, limit);
      if (isNews) {
        const { window } = spend;
        const budget = { ...reservation, limit, window, fails: false };
        const { reserved } = reservedIn(spend, this.#reservations.flatMap((one) => one.of));
        this.#news.push({ budget, percent: 80, spent: spend.spent, reserved });
      }
      if (spend !== stored) await this.#save(isNews ? { ...spend, told: 80 } : spend);
    }
    await this.#db.run(
      "UPDATE turns SET run = NULL, budgets = NULL WHERE task_id = ? AND position = ?",
      place.taskId,
      place.position,
    );
  }

  /**
   * The steps that wait and would do something else now, in the order in which they asked: as many as have
   * room beside each other, and one that asks people for more of a budget. Each of them is to ask again.
   */
  async findWakeable(): Promise<readonly StepPlace[]> {
    const waiting = await findLimited(this.#db, this.#project);
    const [before, questions] = [this.#reservations, this.#questions];
    const woken = waiting.filter(({ options, ...place }) => {
      const option = options.find((one) => this.lacking(one).length === 0);
      if (option === undefined) return this.#wouldAsk(place, options);
      const of = option.map((one) => ({ ...one, startsAt: this.#spendOf(one).window.startsAt }));
      this.#reservations = [...this.#reservations, { ...place, of }];
      return true;
    });
    [this.#reservations, this.#questions] = [before, questions];
    return woken;
  }

  /** Whether a step without room would ask for more; if so, no other one does. */
  #wouldAsk(place: StepPlace, options: readonly (readonly AskedBudget[])[]): boolean {
    const own = this.#questions.some((one) => isSamePlace(one, place));
    const all = own ? [] : options.map((option) => decisiveBudget(this.lacking(option)));
    const asked = all.find((one) => one?.does === "asks");
    if (asked === undefined) return false;
    this.#questions = [...this.#questions, { ...place, asks: moreOf(asked) }];
    return true;
  }

  #spendOf(budget: AskedBudget): StoredSpend {
    const stored = this.#spends.find((one) => isSameBudget(one, budget));
    return newestSpend(budget, { stored, window: budget.window, now: this.#now });
  }

  async #save(spend: StoredSpend): Promise<void> {
    this.#spends = [...this.#spends.filter((one) => !isSameBudget(one, spend)), spend];
    const { scope, unit, per, window: { startsAt, endsAt }, spent, unknown, told } = spend;
    await this.#db.run(
      `INSERT INTO spend (project, scope, unit, per, starts_at, ends_at, spent, unknown, told, granted,
         refused) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project, scope, unit, per)
       DO UPDATE SET starts_at = excluded.starts_at, ends_at = excluded.ends_at,
         spent = excluded.spent, unknown = excluded.unknown, told = excluded.told,
         granted = excluded.granted, refused = excluded.refused`,
      this.#project,
      scope,
      unit,
      per,
      startsAt,
      endsAt,
      spent,
      unknown,
      told,
      spend.granted,
      spend.refused === undefined ? null : storable(spend.refused),
    );
  }
}

/** What is asked of people for a step that has no room in this budget: as much again. */
export function moreOf({ budget, window, spent, granted }: Lacking): AskedMore {
  const { scope, unit, per, limit, asks } = budget;
  const by = asks?.by ?? [];
  return { scope, unit, per, startsAt: window.startsAt, amount: limit, spent, granted, by };
}

/** Why an agent cannot start a run: its budgets without room, and the one that decides. */
export interface LackingAgent {
  readonly agent: string;
  readonly lacking: readonly Lacking[];
  readonly decisive: Lacking;
}

/** The agents among these for whose run a budget has no room. */
export function lackingAgents(
  ledger: BudgetLedger,
  agents: readonly { readonly name: string; readonly budgets?: readonly AskedBudget[] }[],
): readonly LackingAgent[] {
  return agents.flatMap(({ name, budgets = [] }) => {
    const lacking = ledger.lacking(budgets);
    const decisive = decisiveBudget(lacking);
    return decisive === undefined ? [] : [{ agent: name, lacking, decisive }];
  });
}

/** Notes that a step waits for one of these agents to have room in all its budgets. */
export async function waitForBudgets(
  db: SqlSession,
  { taskId, position, project, now }: StepPlace & {
    readonly project: string;
    readonly now: number;
  },
  agent: string,
  { options, asks }: {
    readonly options: readonly (readonly AskedBudget[])[];
    /** What it asks people for. */
    readonly asks: AskedMore | undefined;
  },
): Promise<void> {
  await db.run(
    `INSERT INTO turns (task_id, position, project, agent, state, place, budgets, asks)
     VALUES (?, ?, ?, ?, 'limited', ?, ?, ?)`,
    taskId,
    position,
    project,
    agent,
    now,
    JSON.stringify(options),
    asks === undefined ? null : JSON.stringify(asks),
  );
}

/** Settles a run that has ended, if what was set aside for it still is. */
export const settleRun = <Db extends SqlSession>(host: BudgetHost<Db>) =>
async (
  db: Db,
  { taskId, position, project, run, usage, now }: EndedRun,
): Promise<readonly BudgetNews[]> => {
  await db.lock(budgetLock(project));
  const own = await db.get(
    "SELECT 1 FROM turns WHERE task_id = ? AND position = ? AND run = ?",
    taskId,
    position,
    run,
  );
  if (own === undefined) return [];
  const ledger = await BudgetLedger.open(db, { project, now });
  await ledger.settle({ taskId, position }, usage);
  await wakeSteps(host, db, await ledger.findWakeable(), { now });
  return ledger.news;
};

/** Lets all steps of a project that wait for a budget ask again. */
export const askBudgetsAgain = <Db extends SqlSession>(host: BudgetHost<Db>) =>
async (
  db: Db,
  project: string,
  now: number,
): Promise<void> => {
  await db.lock(budgetLock(project));
  await wakeSteps(host, db, await findLimited(db, project), { now });
};

/**
 * Lets steps ask again that wait for a budget. One that is about to be parked finds that out, as the task
 * does that `taskId` names, which asks.
 */
export async function wakeSteps<Db extends SqlSession>(
  { wake }: BudgetHost<Db>,
  db: Db,
  steps: readonly StepPlace[],
  { now, taskId: asking }: { readonly now: number; readonly taskId?: string },
): Promise<void> {
  for (const { taskId, position } of steps) {
    await db.run(
      `UPDATE turns SET state = 'woken', budgets = CASE WHEN asks IS NULL THEN NULL ELSE budgets END
       WHERE task_id = ? AND position = ? AND state = 'limited'`,
      taskId,
      position,
    );
  }
  const tasks = new Set(steps.map(({ taskId }) => taskId));
  if (asking !== undefined) tasks.delete(asking);
  if (tasks.size > 0) await wake(db, [...tasks], now);
}

async function findLimited(
  db: SqlSession,
  project: string,
): Promise<readonly (StepPlace & { readonly options: readonly (readonly AskedBudget[])[] })[]> {
  const rows = await db.all(
    `SELECT task_id, position, budgets FROM turns
     WHERE project = ? AND budgets IS NOT NULL AND state = 'limited'
     ORDER BY place, task_id, position`,
    project,
  );
  return rows.map((row) => ({
    ...toPlace(row),
    options: json(row, "budgets") as AskedBudget[][],
  }));
}

function isSamePlace(a: StepPlace, b: StepPlace): boolean {
  return a.taskId === b.taskId && a.position === b.position;
}

function toPlace(row: Row): StepPlace {
  return { taskId: text(row, "task_id"), position: number(row, "position") };
}

/** A budget as it is stored. */
export function toSpend(row: Row): StoredSpend {
  return {
    scope: text(row, "scope"),
    unit: text(row, "unit") as Spend["unit"],
    per: text(row, "per") as Spend["per"],
    window: { startsAt: number(row, "starts_at"), endsAt: number(row, "ends_at") },
    spent: number(row, "spent"),
    unknown: number(row, "unknown"),
    granted: number(row, "granted"),
    told: number(row, "told"),
    ...defined({ refused: row["refused"] === null ? undefined : text(row, "refused") }),
  };
}
