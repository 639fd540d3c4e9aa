/**
 * The storage interface for budgets. What a run is expected to use is set aside with its turn, see
 * {@linkcode TurnStore.takeTurn}.
 *
 * @module
 */

import type { BudgetNews, BudgetUse, EndedRun } from "./budget_records.ts";

/** Budgets of agents. */
export interface BudgetStore {
  /**
   * Counts what a run has used in the place of what was set aside for it, once. Steps that wait for
   * what is left of it may go on. Returns what people are to be told.
   */
  settleRun(ended: EndedRun): Promise<readonly BudgetNews[]>;
  /** Lets the steps of a project that wait for a budget ask again: a budget has changed. */
  askBudgetsAgain(project: string, now: number): Promise<void>;
  /** How those budgets of a project stand that runs have used. */
  listBudgetUse(project: string): Promise<BudgetUse[]>;
}
