/**
 * `budget` of an Agent, a Trigger or a Project: how much the agents there may use up in a window of
 * the calendar, and what becomes of a step when no more is left (`onBudget`).
 *
 * @module
 */

import Type from "typebox";
import { CALENDAR_WINDOWS, isTimezone } from "../base/calendar.ts";
import { answererReferences, answerersField, checkOpenTime } from "./approval.ts";
import type { Reference } from "./kind.ts";
import { errorAt, type FieldPath, type Finding } from "./resource.ts";
import { Duration } from "./timeout.ts";

/** What a budget counts. */
export const BUDGET_UNITS = ["runs", "tokens", "usd"] as const;
/** One of {@linkcode BUDGET_UNITS}. */
export type BudgetUnit = typeof BUDGET_UNITS[number];

/** Sums of amounts stay exact below this. */
const MAX_AMOUNT = 1e12;
/** An amount of money is counted in millionths of a dollar. */
const USD_PARTS = 1e6;

const Usd = Type.Number({ minimum: 1 / USD_PARTS, maximum: MAX_AMOUNT / USD_PARTS });
const Count = Type.Integer({ minimum: 1, maximum: MAX_AMOUNT });

const Budget = Type.Object({
  runs: Type.Optional(Count),
  tokens: Type.Optional(Count),
  usd: Type.Optional(Usd),
  per: Type.Enum([...CALENDAR_WINDOWS]),
  perRun: Type.Optional(Type.Number({ minimum: 1 / USD_PARTS, maximum: MAX_AMOUNT })),
  timezone: Type.Optional(Type.String({ minLength: 1, title: "an IANA zone, such as Asia/Tokyo" })),
}, {
  additionalProperties: false,
  title: "a mapping, such as {runs: 40, per: day} or {usd: 20, per: day, perRun: 0.5}",
});

/** One entry of `budget`. */
export type Budget = Type.Static<typeof Budget>;

const Ask = Type.Object({
  by: answerersField([]),
  timeout: Type.Optional(Duration),
}, { additionalProperties: false, title: 'a mapping, such as {by: ["@ops"]}' });

/** `onBudget`, as it is written: what a step does when no more is left. */
export type OnBudget = "wait" | "fail" | { readonly ask: Type.Static<typeof Ask> };

/** No union, as with `network`: an error has to name the field that is wrong. */
const OnBudgetField = Type.Unsafe<OnBudget>({
  ...Type.Object({ ask: Ask }, { additionalProperties: false }),
  type: ["string", "object"],
  pattern: "^(wait|fail)$",
  title: 'wait, fail, or a mapping such as {ask: {by: ["@ops"]}}',
});

/** Who is asked for more of a budget; `undefined` where nobody is. */
export function askOf(onBudget: OnBudget | undefined): Type.Static<typeof Ask> | undefined {
  return typeof onBudget === "object" ? onBudget.ask : undefined;
}

/** The fields of a kind that has budgets. */
export const BUDGET_FIELDS = {
  budget: Type.Optional(Type.Array(Budget, {
    minItems: 1,
    maxItems: 10,
    title: "a list of 1 to 10 budgets, such as [{runs: 40, per: day}]",
  })),
  onBudget: Type.Optional(OnBudgetField),
};

/** Those fields, as they are written. */
export interface Budgeted {
  readonly budget?: readonly Budget[];
  readonly onBudget?: OnBudget;
}

/** Checks what a schema cannot express. */
export function checkBudget({ budget = [], onBudget }: Budgeted): Finding[] {
  const findings = budget.flatMap((one, index) => checkOne(one, ["spec", "budget", index]));
  const names = budget.map((one) => `${unitOf(one)} per ${one.per}`);
  const twice = names.findIndex((name, index) => names.indexOf(name) < index);
  if (twice >= 0) {
    findings.push(errorAt(["spec", "budget", twice], `There are two budgets of ${names[twice]}`));
  }
  if (onBudget !== undefined && budget.length === 0) {
    findings.push(
      errorAt(["spec", "onBudget"], "There is no budget for it: add one, or leave it out"),
    );
  }
  return [...findings, ...checkOpenTime(askOf(onBudget)?.timeout, [...ASK, "timeout"])];
}

const ASK = ["spec", "onBudget", "ask"];

/** The Persons who are asked for more of a budget. */
export function budgetReferences({ onBudget }: Budgeted): Reference[] {
  return answererReferences(askOf(onBudget)?.by, [...ASK, "by"]);
}

function checkOne(budget: Budget, at: FieldPath): Finding[] {
  const { perRun, timezone } = budget;
  const units = BUDGET_UNITS.filter((unit) => budget[unit] !== undefined);
  const [unit] = units;
  if (unit === undefined || units.length > 1) {
    const found = unit === undefined ? "none" : units.join(" and ");
    return [errorAt(at, `A budget has one of ${BUDGET_UNITS.join(", ")}: found ${found}`)];
  }
  const limit = budget[unit] ?? 0;
  const findings: Finding[] = [];
  if (timezone !== undefined && !isTimezone(timezone)) {
    const message = `"${timezone}" is not an IANA zone, such as Asia/Tokyo`;
    findings.push(errorAt([...at, "timezone"], message));
  }
  if (unit === "runs") {
    if (perRun !== undefined) {
      findings.push(errorAt([...at, "perRun"], "A run counts as one run: leave perRun out"));
    }
  } else if (perRun === undefined) {
    const message = `A budget of ${unit} needs perRun: what one run is expected to use at most, ` +
      "which is set aside while it works";
    findings.push(errorAt(at, message));
  } else if (limit < perRun) {
    const message = `The budget of ${limit} ${unit} is below its perRun of ${perRun}: ` +
      "no run could ever start";
    findings.push(errorAt([...at, "perRun"], message));
  } else if (unit === "tokens" && !Number.isInteger(perRun)) {
    findings.push(errorAt([...at, "perRun"], `Tokens are whole: found ${perRun}`));
  }
  return findings;
}

/** What a budget counts, of those that are valid. */
export function unitOf(budget: Budget): BudgetUnit {
  return BUDGET_UNITS.find((unit) => budget[unit] !== undefined) ?? "runs";
}

/** An amount as it is counted, see `BudgetInForce`. */
export function toAmount(written: number, unit: BudgetUnit): number {
  return unit === "usd" ? Math.round(written * USD_PARTS) : written;
}

/** An amount as people write it. */
export function fromAmount(amount: number, unit: BudgetUnit): number {
  return unit === "usd" ? amount / USD_PARTS : amount;
}

/** Such as `20 usd` or `1 run`; money is rounded to cents, unless it is less than one. */
export function amountText(amount: number, unit: BudgetUnit): string {
  const value = fromAmount(amount, unit);
  if (unit !== "usd" && value === 1) return `1 ${unit.replace(/s$/, "")}`;
  if (unit !== "usd" || Number.isInteger(value)) return `${value} ${unit}`;
  return `${value < 0.01 ? value : value.toFixed(2)} ${unit}`;
}
