/**
 * The budgets that are in force, with the windows in which they count now.
 *
 * @module
 */

import { type CalendarWindow, calendarWindow, type TimeSpan } from "../base/calendar.ts";
import { findDurationSecs } from "../base/duration.ts";
import { DEFAULT_APPROVAL_TIMEOUT } from "./approval.ts";
import { askOf, type Budgeted, type BudgetUnit, toAmount, unitOf } from "./budget.ts";
import type { Catalog } from "./catalog.ts";
import type { Resource } from "./resource.ts";

/** The time zone of a budget that names none. */
const DEFAULT_TIMEZONE = "UTC";

/** A budget that is in force. Amounts are whole: runs, tokens, or millionths of a dollar. */
export interface BudgetInForce {
  readonly project: string;
  /** The resource that has it, such as `agent/claude`. */
  readonly scope: string;
  readonly unit: BudgetUnit;
  readonly per: CalendarWindow;
  readonly limit: number;
  readonly perRun: number;
  /** Whether a step fails for which nothing is left; else it waits, or asks for more. */
  readonly fails: boolean;
  /** Who is asked for more, as `by` of an approval, and for how long. */
  readonly asks?: { readonly by: readonly string[]; readonly timeoutMs: number };
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
  const ask = askOf(onBudget);
  const secs = findDurationSecs(ask?.timeout ?? DEFAULT_APPROVAL_TIMEOUT) ?? 0;
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
      ...ask === undefined ? {} : { asks: { by: ask.by, timeoutMs: secs * 1000 } },
      window: calendarWindow(one.per, now, one.timezone ?? DEFAULT_TIMEZONE),
    };
  });
}
