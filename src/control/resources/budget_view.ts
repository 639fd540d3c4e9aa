/**
 * Budgets as `svc get budgets` lists them: those that are in force, with what runs have used of them.
 *
 * @module
 */

import type { GetInput, Listing } from "../../api/resource_operations.ts";
import { rfc3339, type WallClock } from "../../base/clock.ts";
import { shortDuration } from "../../base/duration.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { amountText, fromAmount } from "../../resources/budget.ts";
import { allBudgets, type BudgetInForce } from "../../resources/budgets_in_force.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { Column } from "../../resources/kind.ts";
import type { BudgetUse } from "../../store/budget_records.ts";
import type { BudgetStore } from "../../store/budget_store.ts";
import { isSameBudget, newestSpend } from "../../store/rules/budgets.ts";
import { checkFilters } from "../records/records.ts";
import { projectColumn, table } from "../records/views.ts";

/** The parts of the daemon that know budgets. */
export interface BudgetViewHost {
  readonly catalog: Pick<Catalog, "list">;
  readonly store: Pick<BudgetStore, "listBudgetUse">;
  readonly clock: WallClock;
}

/** A budget that is in force, and how it stands in its newest window. */
export interface StandingBudget extends BudgetInForce, Omit<BudgetUse, keyof BudgetInForce> {}

/** How every budget stands. */
export async function standingBudgets(
  { catalog, store, clock }: BudgetViewHost,
): Promise<readonly StandingBudget[]> {
  const now = clock.now();
  const budgets = allBudgets(catalog, now);
  const found: StandingBudget[] = [];
  for (const [project, some] of Map.groupBy(budgets, (budget) => budget.project)) {
    const uses = await store.listBudgetUse(project);
    found.push(...some.map((budget) => standing(budget, uses, now)));
  }
  return found;
}

function standing(budget: BudgetInForce, uses: readonly BudgetUse[], now: number): StandingBudget {
  const use = uses.find((one) => isSameBudget(one, budget));
  const { window } = budget;
  const stored = use === undefined ? undefined : { ...use, told: 0 };
  const { told: _told, ...spend } = newestSpend(budget, { stored, window, now });
  const { reserved = 0, running = 0, waiting = 0 } = spend.window === use?.window ? use : {};
  return { ...budget, ...spend, reserved, running, waiting };
}

/**
 * How much of a budget is used, with what people have allowed beside; from 0, more than 1 where a run has
 * used more than was set aside.
 */
export function usedRatio(
  { spent, limit, granted }: Pick<StandingBudget, "spent" | "limit" | "granted">,
): number {
  return spent / (limit + granted);
}

/**
 * Lists the budgets.
 *
 * @throws {AppError} `usage` for a filter, `not_found` for an unknown name.
 */
export async function listBudgets(input: GetInput, host: BudgetViewHost): Promise<Listing> {
  checkFilters(undefined, input);
  const all = (await standingBudgets(host)).filter(({ project, scope }) =>
    (input.project === undefined || project === input.project) &&
    (input.name === undefined || scope === input.name || scope.endsWith(`/${input.name}`))
  );
  if (input.name !== undefined && all.length === 0) {
    throw new AppError("not_found", `No budget of "${input.name}": svc get budgets lists them`);
  }
  const shown = all.slice(0, input.limit);
  const now = host.clock.now();
  return {
    items: shown.map(budgetView),
    names: shown.map(({ scope }) => `budget/${scope}`),
    ...table(shown, columns(now), input.project),
  };
}

function budgetView(budget: StandingBudget): Record<string, unknown> {
  const { unit, window } = budget;
  const amount = (value: number) => fromAmount(value, unit);
  return {
    of: budget.scope,
    project: budget.project,
    unit,
    per: budget.per,
    limit: amount(budget.limit),
    per_run: amount(budget.perRun),
    granted: amount(budget.granted),
    spent: amount(budget.spent),
    reserved: amount(budget.reserved),
    used_ratio: usedRatio(budget),
    unknown_runs: budget.unknown,
    running: budget.running,
    waiting: budget.waiting,
    on_budget: budget.fails ? "fail" : budget.asks === undefined ? "wait" : "ask",
    ...defined({ asks: budget.asks?.by, refused: budget.refused }),
    starts_at: rfc3339(window.startsAt),
    resets_at: rfc3339(window.endsAt),
  };
}

function columns(now: number): readonly Column<StandingBudget>[] {
  const share = (budget: StandingBudget) => `${Math.floor(usedRatio(budget) * 100)}%`;
  return [
    { header: "OF", fit: "name", cell: ({ scope }) => scope },
    { header: "LIMIT", cell: limitText },
    { header: "USED", cell: (one) => `${bare(one.spent, one)} (${share(one)})` },
    { header: "RESERVED", cell: (one) => one.reserved === 0 ? "" : bare(one.reserved, one) },
    { header: "UNKNOWN", cell: ({ unknown }) => unknown === 0 ? "" : runs(unknown) },
    { header: "WAITING", cell: ({ waiting }) => waiting === 0 ? "" : String(waiting) },
    { header: "RESETS", cell: ({ window }) => `in ${shortDuration(window.endsAt - now)}` },
    projectColumn(({ project }: StandingBudget) => project),
  ];
}

const limitText = ({ limit, granted, unit, per, refused }: StandingBudget) =>
  `${amountText(limit, unit)} per ${per}` +
  (granted === 0 ? "" : ` +${bare(granted, { unit })}`) +
  (refused === undefined ? "" : ", no more");
const bare = (amount: number, { unit }: Pick<StandingBudget, "unit">) =>
  amountText(amount, unit).replace(/ .*/, "");
const runs = (count: number) => `${count} run${count === 1 ? "" : "s"}`;
