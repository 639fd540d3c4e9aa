/**
 * Records of budgets: how much the runs of agents have used up. Amounts are whole: runs, tokens, or
 * millionths of a dollar.
 *
 * @module
 */

import type { TimeSpan } from "../base/calendar.ts";
import type { BudgetInForce } from "../resources/budgets_in_force.ts";

/** What makes a budget one of its project. */
export type BudgetKey = Pick<BudgetInForce, "scope" | "unit" | "per">;

/** A budget in which a run of an agent has to have room. */
export type AskedBudget = Omit<BudgetInForce, "project">;

/** What was used up of a budget in its newest window. */
export interface Spend extends BudgetKey {
  readonly window: TimeSpan;
  readonly spent: number;
  /** Runs of which nobody knows what they used: each is in `spent` as `perRun`. */
  readonly unknown: number;
  /** What people have allowed in this window beyond the limit. */
  readonly granted: number;
  /** That they have not allowed more when they were asked, and why: the end of a sentence. */
  readonly refused?: string;
}

/** What a step asks people: to let so much more be used of a budget in one window. */
export interface AskedMore extends BudgetKey {
  /** Beginning of the window. */
  readonly startsAt: number;
  /** As much as the limit of the budget. */
  readonly amount: number;
  /** What was used when it was asked. */
  readonly spent: number;
  /** What had been allowed before. */
  readonly granted: number;
  /** Who may answer, as `by` of an approval. */
  readonly by: readonly string[];
}

/** How a budget stands. */
export interface BudgetUse extends Spend {
  /** Set aside for runs that have begun and not ended. */
  readonly reserved: number;
  /** Number of those runs. */
  readonly running: number;
  /** Steps that wait for it. */
  readonly waiting: number;
}

/** What a run has used, as far as it is known. */
export interface RunUsage {
  readonly tokens?: number;
  /** Millionths of a dollar. */
  readonly usd?: number;
}

/** A run of an agent that has ended. */
export interface EndedRun {
  readonly taskId: string;
  /** Position of the step in its task. */
  readonly position: number;
  readonly project: string;
  /** Id of the run, see {@linkcode AskedTurn.run}. */
  readonly run: string;
  /** Absent if it never began: then it counts for nothing. */
  readonly usage?: RunUsage;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A budget of which people are told, once a window: 80 % are used up, or a step has to wait for it. */
export interface BudgetNews {
  readonly budget: AskedBudget;
  readonly percent: 80 | 100;
  readonly spent: number;
  readonly reserved: number;
}
