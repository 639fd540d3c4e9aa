/**
 * The order in which the steps of a task run (`needs`): the states of all steps decide which steps can
 * start, which never will, and how the task ends. Pure.
 *
 * A step with `repeat` waits from the beginning of its first round to the end of its last one. Meanwhile
 * its own steps can start; when all of them are over, it can go on itself, and `rounds.ts` decides how.
 *
 * @module
 */

import { innerPlaces, needsOf, type StepNeeds } from "../../resources/step_graph.ts";
import type { StepRecord } from "../../store/task_records.ts";
import type { PlannedStep } from "../plan.ts";

/** The fields of a step that decide when it runs, and what its failure means. */
export type FlowStep = Pick<
  PlannedStep,
  "id" | "needs" | "continueOnError" | "repeat" | "within"
>;

/** The state of a step. A list of them is in the order of the steps. */
export type Standing = Pick<StepRecord, "state" | "reason" | "finishedAt">;

/** The next steps to start or to skip. */
export interface Moves {
  /** Positions of steps that can start now. */
  readonly ready: readonly number[];
  /** Steps that will never start, with the reason to be stored. */
  readonly skip: readonly { readonly position: number; readonly reason: string }[];
}

/** Reason of steps that the task had no time for: such a task has failed, whatever its other steps did. */
export const OUT_OF_TIME = "the task timed out";

/** Start of the reason of steps whose task could not run, for example without a workspace. */
const NEVER_RAN = "the task could not run: ";

/** The reason of steps whose task could not run, and why. */
export function neverRan(why: string): string {
  return NEVER_RAN + why;
}

/** Why the task of these steps could not run; `undefined` where it could. */
export function findNeverRan(standings: readonly Standing[]): string | undefined {
  const skipped = standings.find(({ state, reason }) =>
    state === "skipped" && reason.startsWith(NEVER_RAN)
  );
  return skipped?.reason.slice(NEVER_RAN.length);
}

/** Whether a step was skipped because of its task, before its own condition was evaluated. */
export function isTasksReason(reason: string): boolean {
  return reason === OUT_OF_TIME || reason.startsWith(NEVER_RAN);
}

/** Whether the state of a step is final. */
export function isOver({ state }: Pick<Standing, "state">): boolean {
  return state !== "pending" && state !== "running" && state !== "waiting";
}

/** The steps to start or to skip when all steps are in these states. */
export function nextMoves(steps: readonly FlowStep[], standings: readonly Standing[]): Moves {
  const needs = needsByPosition(steps);
  const blocks = blocksByPosition(steps);
  const blockers = blockersOf(steps, standings, needs);
  const pending = [...standings.keys()].filter((position) => canStart(standings[position]?.state));
  const which = (position: number) => {
    const how = HOW[standings[position]?.state ?? ""] ?? "was skipped";
    return `"${steps[position]?.id}", which ${how}`;
  };
  return {
    ready: pending.filter((position) =>
      !blockers.has(position) && allOver(needs[position], standings) &&
      isIts(position, { steps, standings, blocks })
    ),
    skip: pending.flatMap((position) => {
      const [blocker, block] = [blockers.get(position), blocks[position]];
      if (blocker !== undefined) return [{ position, reason: `needs ${which(blocker)}` }];
      const isLeft = block !== undefined && isOver(standings[block] ?? { state: "pending" });
      return isLeft ? [{ position, reason: `is a step of ${which(block)}` }] : [];
    }),
  };
}

/**
 * Whether it is the turn of a step: of one in a `repeat` while that is in a round, of the `repeat` itself
 * between two rounds.
 */
function isIts(
  position: number,
  { steps, standings, blocks }: {
    readonly steps: readonly FlowStep[];
    readonly standings: readonly Standing[];
    readonly blocks: readonly (number | undefined)[];
  },
): boolean {
  const block = blocks[position];
  if (block !== undefined) return standings[block]?.state === "waiting";
  if (steps[position]?.repeat === undefined || standings[position]?.state === "pending") {
    return true;
  }
  return allOver(innerPlaces(steps, position), standings);
}

/** Whether a step in this state can start, or look again whether it can go on. */
const canStart = (state: Standing["state"] | undefined) =>
  state === "pending" || state === "waiting";

const HOW: Readonly<Record<string, string>> = { failed: "failed", cancelled: "was cancelled" };

/**
 * Why the task has failed: its first failure that counts; `undefined` when it has not. The failure of a
 * step of a `repeat` is one of that.
 */
export function findFailure(
  steps: readonly FlowStep[],
  standings: readonly Standing[],
): string | undefined {
  const failures = standings.flatMap(({ state, reason, finishedAt = Infinity }, position) => {
    const step = steps[position];
    const counts = state === "failed" && step !== undefined && step.continueOnError !== true &&
      step.within === undefined;
    return counts ? [{ at: finishedAt, reason: `step "${step.id}": ${reason}` }] : [];
  });
  const [first] = failures.toSorted((a, b) => a.at === b.at ? 0 : a.at - b.at);
  const late = standings.some(({ state, reason }) => state === "skipped" && reason === OUT_OF_TIME);
  return findNeverRan(standings) ?? first?.reason ?? (late ? OUT_OF_TIME : undefined);
}

/** How a task ends whose steps are in these states, those under `finally` after the others. */
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
 * Ids of the steps that each step of a plan waits for. The steps under `finally` come after the others
 * and run one after the other. The first of them runs when all others have ended, so it waits for those
 * that no other step waits for.
 */
export function waitsFor(
  { steps, finally: last = [] }: {
    readonly steps: readonly StepNeeds[];
    readonly finally?: readonly StepNeeds[];
  },
): readonly (readonly string[])[] {
  const needs = steps.map((_, place) => needsOf(steps, place));
  const waitedFor = new Set(needs.flat());
  const ends = steps.flatMap(({ id, within }) =>
    waitedFor.has(id) || within !== undefined ? [] : [id]
  );
  return [
    ...needs,
    ...last.map((_, place) => {
      const before = last[place - 1];
      return before === undefined ? ends : [before.id];
    }),
  ];
}

/** The positions of the steps that each step waits for. */
function needsByPosition(steps: readonly FlowStep[]): readonly (readonly number[])[] {
  const places = new Map(steps.map(({ id }, place) => [id, place]));
  return steps.map((_, place) => needsOf(steps, place).flatMap((id) => places.get(id) ?? []));
}

/** For each step of a `repeat`, the position of that. */
function blocksByPosition(steps: readonly FlowStep[]): readonly (number | undefined)[] {
  const blocks = new Map(
    steps.flatMap(({ id, repeat }, place) => repeat === undefined ? [] : [[id, place] as const]),
  );
  return steps.map(({ within }) => within === undefined ? undefined : blocks.get(within));
}

function allOver(positions: readonly number[] = [], standings: readonly Standing[]): boolean {
  return positions.every((position) => isOver(standings[position] ?? { state: "pending" }));
}

/**
 * For each step that can never run, the position of the step that blocks it: one that has failed or was
 * cancelled, or one that is blocked itself. A step that its own `when` skipped blocks no other.
 */
function blockersOf(
  steps: readonly FlowStep[],
  standings: readonly Standing[],
  needs: readonly (readonly number[])[],
): ReadonlyMap<number, number> {
  const dependants = new Map<number, number[]>();
  for (const [position, needed] of needs.entries()) {
    for (const need of needed) dependants.set(need, [...dependants.get(need) ?? [], position]);
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
