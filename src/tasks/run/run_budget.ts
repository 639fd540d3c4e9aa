/**
 * The budgets of one run of an agent: those that it has to have room in, what it counts as when it has
 * ended, and what people are told. Budgets are read as they are applied now, not as they were when the
 * task was planned: who raises one lets the tasks go on that wait for it.
 *
 * @module
 */

import { rfc3339 } from "../../base/clock.ts";
import { capitalized } from "../../base/sentence.ts";
import { amountText, fromAmount, toAmount } from "../../resources/budget.ts";
import { budgetsOfRun } from "../../resources/budgets_in_force.ts";
import type { AskedBudget, BudgetNews, RunUsage } from "../../store/budget_records.ts";
import type { StepLog } from "../log/task_log.ts";
import type { AgentUsage, AttemptResult } from "./attempt_step.ts";
import type { PositionedStep } from "./prepare_attempt.ts";
import { retryInRun, type TaskContext } from "./task_context.ts";

/** The budgets of a run of this agent; empty where nothing bounds it. */
export function budgetsFor(
  agent: string,
  { host: { catalog, clock }, claimed: { task: { project, trigger } } }: TaskContext,
): readonly AskedBudget[] {
  return budgetsOfRun(catalog, { project, trigger, agent }, clock.now());
}

/** What one run may cost at most, in dollars; `undefined` where no budget says so. */
export function maxUsd(budgets: readonly AskedBudget[]): number | undefined {
  const each = budgets.flatMap(({ unit, perRun }) => unit === "usd" ? [perRun] : []);
  return each.length === 0 ? undefined : fromAmount(Math.min(...each), "usd");
}

/** Counts what a run has used. */
export async function settle(
  { run, budgets }: { readonly run: string; readonly budgets: readonly AskedBudget[] },
  { position }: PositionedStep,
  { usage }: Pick<AttemptResult, "usage">,
  { context, log }: { readonly context: TaskContext; readonly log: StepLog },
): Promise<void> {
  if (budgets.length === 0) return;
  const { host: { store, clock }, claimed: { task } } = context;
  const used = usage && toRunUsage(usage);
  for (const budget of budgets) {
    const { unit, perRun } = budget;
    if (used === undefined || unit === "runs" || used[unit] !== undefined) continue;
    await log.note(
      `the agent has not told its ${unit === "usd" ? "cost" : "tokens"}: ` +
        `${amountText(perRun, unit)} count for ${budgetName(budget)}`,
    );
  }
  const ended = {
    taskId: task.id,
    position,
    project: task.project,
    run,
    ...(used === undefined ? {} : { usage: used }),
  };
  const news = await retryInRun(context, () => store.settleRun({ ...ended, now: clock.now() }));
  tell(news, context);
}

function toRunUsage({ tokens, costUsd }: AgentUsage): RunUsage {
  return {
    ...(tokens === undefined ? {} : { tokens }),
    ...(costUsd === undefined ? {} : { usd: toAmount(costUsd, "usd") }),
  };
}

/** Tells people of budgets, in the log of the daemon and by Notifications. */
export function tell(
  news: readonly BudgetNews[],
  { host: { events, log }, claimed: { task } }: TaskContext,
): void {
  for (const one of news) {
    const reason = sentenceOf(one);
    log.warn(reason, { project: task.project });
    events.publish("incidentHappened", {
      kind: one.percent === 100 ? "budget.reached" : "budget.near",
      project: task.project,
      connection: "",
      reason,
      taskId: task.id,
    });
  }
}

function sentenceOf({ budget, percent, spent, reserved }: BudgetNews): string {
  const { unit, limit, fails, asks, window: { endsAt } } = budget;
  const name = capitalized(budgetName(budget));
  const until = `until it resets at ${rfc3339(endsAt)}`;
  if (percent === 100) {
    const aside = reserved === 0 ? "" : `, ${amountText(reserved, unit)} set aside for runs`;
    const used = `${name} is reached: ${amountText(spent, unit)} used${aside}.`;
    if (asks !== undefined) return `${used} Steps ask ${asks.by.join(", ")} for more`;
    return `${used} ${fails ? "Steps fail" : "Steps wait"} ${until}`;
  }
  const share = Math.floor(spent / limit * 100);
  return `${name} is used up to ${share} %: ${amountText(spent, unit)}, ${until}`;
}

/** Such as `the budget of agent/claude (20 usd per day)`. */
export function budgetName(
  { scope, unit, per, limit }: Pick<AskedBudget, "scope" | "unit" | "per" | "limit">,
): string {
  return `the budget of ${scope} (${amountText(limit, unit)} per ${per})`;
}
