/**
 * The order in which the steps of a task run (`needs`): from the states of all steps it follows
 * which can start, which never will, and how the task ends. Pure.
 *
 * @module
 */

import { needsOf, type StepNeeds } from "../../resources/step_graph.ts";
import type { StepRecord } from "../../store/task_records.ts";
import type { PlannedStep } from "../plan.ts";

/** The part of a step that decides when it runs, and what its failure means. */
export type FlowStep = Pick<PlannedStep, "id" | "needs" | "continueOnError">;

/** The state of a step; those of a flow are in the order of its steps. */
export type Standing = Pick<StepRecord, "state" | "reason" | "finishedAt">;

/** The next steps to start or to skip. */
export interface Moves {
  /** Positions of steps that can start now. */
  readonly ready: readonly number[];
  /** Steps that will never start, with the reason to be stored. */
  readonly skip: readonly { readonly position: number; readonly reason: string }[];
}

/** Reason of steps that the task had no time for: the task has failed, whatever the others did. */
export const OUT_OF_TIME = "the task timed out";

/** Start of the reason of steps whose task could not run: it had no workspace, or lacked more. */
const NEVER_RAN = "the task could not run: ";

/** The reason of steps whose task could not run, and why. */
export function neverRan(why: string): string {
  return NEVER_RAN + why;
}

/** Why the task of these steps could not run; `undefined` where it could. */
export function findNeverRan(standings: readonly Standing[]): string | undefined {
  const found = standings.find(({ state, reason }) =>
    state === "skipped" && reason.startsWith(NEVER_RAN)
  );
  return found?.reason.slice(NEVER_RAN.length);
}

/** Whether a step was skipped for its task's sake: nothing of its own was looked at. */
export function isTasksReason(reason: string): boolean {
  return reason === OUT_OF_TIME || reason.startsWith(NEVER_RAN);
}

/** Whether the state of a step is final. */
export function isOver({ state }: Pick<Standing, "state">): boolean {
  return state !== "pending" && state !== "running";
}

/** What can be done with steps in these states. */
export function nextMoves(steps: readonly FlowStep[], standings: readonly Standing[]): Moves {
  const needs = needsByPosition(steps);
  const blockers = blockersOf(steps, standings, needs);
  const waiting = [...standings.keys()].filter((position) =>
    standings[position]?.state === "pending"
  );
  return {
    ready: waiting.filter((position) =>
      !blockers.has(position) && allOver(needs[position], standings)
    ),
    skip: waiting.flatMap((position) => {
      const blocker = blockers.get(position);
      if (blocker === undefined) return [];
      const how = HOW[standings[blocker]?.state ?? ""] ?? "was skipped";
      return [{ position, reason: `needs "${steps[blocker]?.id}", which ${how}` }];
    }),
  };
}

const HOW: Readonly<Record<string, string>> = { failed: "failed", cancelled: "was cancelled" };

/** Why the task has failed: its first failure that counts; `undefined` when it has not. */
export function findFailure(
  steps: readonly FlowStep[],
  standings: readonly Standing[],
): string | undefined {
  const failures = standings.flatMap(({ state, reason, finishedAt = Infinity }, position) => {
    const step = steps[position];
    const counts = state === "failed" && step !== undefined && step.continueOnError !== true;
    return counts ? [{ at: finishedAt, reason: `step "${step.id}": ${reason}` }] : [];
  });
  const [first] = failures.toSorted((a, b) => a.at === b.at ? 0 : a.at - b.at);
  const late = standings.some(({ state, reason }) => state === "skipped" && reason === OUT_OF_TIME);
  return findNeverRan(standings) ?? first?.reason ?? (late ? OUT_OF_TIME : undefined);
}

/** How a task ends whose steps stand like this, those under `finally` after the others. */
export function taskVerdict(
  plan: { readonly steps: readonly FlowStep[]; readonly finally?: readonly FlowStep[] },
  standings: readonly Standing[],
): { readonly state: "succeeded" | "failed" | "cancelled"; readonly reason: string } {
  const steps = standings.slice(0, plan.steps.length);
  const last = standings.slice(plan.steps.length);
  if (steps.some((one) => one.state === "cancelled" || !isOver(one))) {
    return { state: "cancelled", reason: "" };
  }
  const reason = findFailure(plan.steps, steps) ?? findFailure(plan.finally ?? [], last);
  return reason === undefined ? { state: "succeeded", reason: "" } : { state: "failed", reason };
}

/**
 * Ids of the steps that each step of a plan waits for, those under `finally` after the others: they
 * run one after the other, the first of them once all others have ended, so it is said to wait for
 * those that no other waits for.
 */
export function waitsFor(
  { steps, finally: last = [] }: {
    readonly steps: readonly StepNeeds[];
    readonly finally?: readonly StepNeeds[];
  },
): readonly (readonly string[])[] {
  const needs = steps.map((_, place) => needsOf(steps, place));
  const waitedFor = new Set(needs.flat());
  const ends = steps.flatMap(({ id }) => waitedFor.has(id) ? [] : [id]);
  return [
    ...needs,
    ...last.map((_, place) => {
      const before = last[place - 1];
      return before === undefined ? ends : [before.id];
    }),
  ];
}

/** Places that each step waits for. */
function needsByPosition(steps: readonly FlowStep[]): readonly (readonly number[])[] {
  const places = new Map(steps.map(({ id }, place) => [id, place]));
  return steps.map((_, place) => needsOf(steps, place).flatMap((id) => places.get(id) ?? []));
}

function allOver(positions: readonly number[] = [], standings: readonly Standing[]): boolean {
  return positions.every((position) => isOver(standings[position] ?? { state: "pending" }));
}

/**
 * What keeps steps from ever running, by position: failed steps, and everything skipped because of
 * them. A step that its own `when` skipped blocks no other.
 */
function blockersOf(
  steps: readonly FlowStep[],
  standings: readonly Standing[],
  needs: readonly (readonly number[])[],
): ReadonlyMap<number, number> {
  const dependants = new Map<number, number[]>();
  for (const [position, some] of needs.entries()) {
    for (const need of some) dependants.set(need, [...dependants.get(need) ?? [], position]);
  }
  const blockers = new Map<number, number>();
  const open = [...standings.keys()].filter((position) =>
    ["failed", "cancelled"].includes(standings[position]?.state ?? "")
  );
  for (let position = open.shift(); position !== undefined; position = open.shift()) {
    if (steps[position]?.continueOnError === true) continue;
    for (const next of dependants.get(position) ?? []) {
      if (blockers.has(next)) continue;
      if (!["pending", "skipped"].includes(standings[next]?.state ?? "")) continue;
      blockers.set(next, position);
      open.push(next);
    }
  }
  return blockers;
}
