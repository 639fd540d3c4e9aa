/**
 * `budget` of an Agent, a Trigger or a Project: how much the agents there may use up in a window of
 * the calendar, and what becomes of a step when no more is left.
 *
 * @module
 */

import Type from "typebox";
import {
  CALENDAR_WINDOWS,
  type CalendarWindow,
  calendarWindow,
  isTimezone,
  type TimeSpan,
} from "../base/calendar.ts";
import type { Catalog } from "./catalog.ts";
import { errorAt, type FieldPath, type Finding, type Resource } from "./resource.ts";

/** What a budget counts. */
export const BUDGET_UNITS = ["runs", "tokens", "usd"] as const;
/** One of {@linkcode BUDGET_UNITS}. */
export type BudgetUnit = typeof BUDGET_UNITS[number];

/** The time zone of a budget that names none. */
const DEFAULT_TIMEZONE = "UTC";

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

/** The fields of a kind that has budgets. */
export const BUDGET_FIELDS = {
  budget: Type.Optional(Type.Array(Budget, { minItems: 1, maxItems: 10, title: "a list" })),
  onBudget: Type.Optional(Type.Enum(["wait", "fail"])),
};

/** Those fields, as they are written. */
export interface Budgeted {
  readonly budget?: readonly Budget[];
  readonly onBudget?: "wait" | "fail";
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
  return findings;
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

function unitOf(budget: Budget): BudgetUnit {
  return BUDGET_UNITS.find((unit) => budget[unit] !== undefined) ?? "runs";
}

/** What a budget is of; its name is empty for the project itself. */
export interface BudgetScope {
  readonly kind: "Agent" | "Trigger" | "Project";
  readonly name: string;
}

/** A budget that is in force. Amounts are whole: runs, tokens, or millionths of a dollar. */
export interface BudgetInForce {
  readonly project: string;
  /** The resource that has it, such as `agent/claude`. */
  readonly scope: string;
  readonly unit: BudgetUnit;
  readonly per: CalendarWindow;
  readonly limit: number;
  readonly perRun: number;
  /** Whether a step fails for which nothing is left; else it waits. */
  readonly fails: boolean;
  /** The window of the calendar around the time for which they were asked. */
  readonly window: TimeSpan;
}

const SCOPES = ["Agent", "Trigger", "Project"] as const;

/** The budgets that a run of an agent has to have room in: its own, and those of trigger and project. */
export function budgetsOfRun(
  catalog: Pick<Catalog, "find">,
  { project, agent, trigger }: {
    readonly project: string;
    readonly agent: string;
    readonly trigger: string;
  },
  now: number,
): readonly BudgetInForce[] {
  const names = { Agent: agent, Trigger: trigger, Project: project };
  return SCOPES.flatMap((kind) => {
    const resource = catalog.find<Budgeted>(kind, kind === "Project" ? "" : project, names[kind]);
    return resource === undefined ? [] : budgetsOf(resource, now);
  });
}

/** Every budget that is in force, by project and resource. */
export function allBudgets(catalog: Pick<Catalog, "list">, now: number): readonly BudgetInForce[] {
  return SCOPES.flatMap((kind) => catalog.list(kind))
    .flatMap((resource) => budgetsOf(resource as Resource<Budgeted>, now))
    .toSorted((a, b) => compare(a.project, b.project) || compare(a.scope, b.scope));
}

const compare = (a: string, b: string) => a < b ? -1 : a > b ? 1 : 0;

function budgetsOf(
  { kind, project, name, spec: { budget = [], onBudget } }: Resource<Budgeted>,
  now: number,
): readonly BudgetInForce[] {
  return budget.map((one) => {
    const unit = unitOf(one);
    return {
      project: kind === "Project" ? name : project,
      scope: `${kind.toLowerCase()}/${name}`,
      unit,
      per: one.per,
      limit: toAmount(one[unit] ?? 0, unit),
      perRun: unit === "runs" ? 1 : toAmount(one.perRun ?? 0, unit),
      fails: onBudget === "fail",
      window: calendarWindow(one.per, now, one.timezone ?? DEFAULT_TIMEZONE),
    };
  });
}

/** An amount as it is counted, see {@linkcode BudgetInForce}. */
export function toAmount(written: number, unit: BudgetUnit): number {
  return unit === "usd" ? Math.round(written * USD_PARTS) : written;
}

/** An amount as people write it. */
export function fromAmount(amount: number, unit: BudgetUnit): number {
  return unit === "usd" ? amount / USD_PARTS : amount;
}

/** Such as `20 usd`; money is rounded to cents, unless it is less than one. */
export function amountText(amount: number, unit: BudgetUnit): string {
  const value = fromAmount(amount, unit);
  if (unit !== "usd" || Number.isInteger(value)) return `${value} ${unit}`;
  return `${value < 0.01 ? value : value.toFixed(2)} ${unit}`;
}
