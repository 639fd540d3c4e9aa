/**
 * A step whose agent has used up a budget asks people for as much again (`onBudget: {ask}`), in a wait of kind
 * `approval`. What they say is counted when the step asks for its turn again (`store/sql/turns.ts`): this
 * file only asks. It is asked once for all steps that wait for the budget.
 *
 * @module
 */

import { rfc3339 } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import { amountText } from "../../resources/budget.ts";
import type { AskedBudget, AskedMore } from "../../store/budget_records.ts";
import type { PositionedStep } from "./prepare_attempt.ts";
import { checkRoom, publishQuestion, sealQuestion } from "./question.ts";
import { budgetName } from "./run_budget.ts";
import { retryInRun, type TaskContext } from "./task_context.ts";
import { dueAtOf, type Waiting } from "./waiting.ts";

/** A budget that is used up, until when, and what is asked for. */
export interface UsedUp {
  readonly budget: AskedBudget;
  /** When its window ends, in milliseconds since the epoch. */
  readonly until: number;
  readonly asks: AskedMore;
}

/**
 * Asks, or looks whether it is answered.
 *
 * @returns that the step waits, or how its question has ended: then it asks for its turn again.
 * @throws {AppError} `invalid` when it cannot ask.
 */
export async function askForMore(
  placed: PositionedStep,
  used: UsedUp,
  context: TaskContext,
): Promise<Waiting | "answered" | "cancelled"> {
  const { host: { store, clock }, claimed: { task }, steps } = context;
  const { position } = placed;
  const { by, amount, unit } = used.asks;
  const reason = (until: number) =>
    `asks ${by.join(", ")} for another ${amountText(amount, unit)} until ${rfc3339(until)}`;
  const before = steps.records[position]?.reason ?? "";
  if (!before.startsWith("asks ")) await checkRoom(context);
  const question = { ask: questionText(used), fields: {}, by, need: 1, fourEyes: false };
  const asked = await sealQuestion(question, placed, context);
  const now = clock.now();
  const timeoutMs = used.budget.asks?.timeoutMs ?? 0;
  const wait = await retryInRun(context, () =>
    store.openWait({
      taskId: task.id,
      position,
      round: steps.roundOf(position),
      project: task.project,
      parts: [{
        kind: "approval",
        dueAt: Math.min(now + timeoutMs, used.until),
        isRelative: true,
        asked: asked as unknown as JsonObject,
      }],
      now,
    }));
  if (wait.end !== undefined) return wait.end.by === "task" ? "cancelled" : "answered";
  const until = dueAtOf(wait);
  if (before !== reason(until)) publishQuestion(wait, placed, context);
  return { state: "waiting", reason: reason(until), until, openedAt: wait.openedAt };
}

const WINDOWS = { hour: "this hour", day: "today", week: "this week", month: "this month" };

function questionText({ budget, asks: { amount, spent, granted }, until }: UsedUp): string {
  const { unit, per, scope } = budget;
  const allowed = granted === 0 ? "" : ` Another ${amountText(granted, unit)} was allowed already.`;
  return `Another ${amountText(amount, unit)} ${WINDOWS[per]} for ${scope}?\n` +
    `Used so far of ${budgetName(budget)}: ${amountText(spent, unit)}.${allowed} It resets at ` +
    `${
      rfc3339(until)
    }. If you approve, the steps that wait for it may use as much again until then. ` +
    "If you reject, they fail.";
}
