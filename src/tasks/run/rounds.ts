/**
 * The rounds of a `repeat`: how it goes on after one, and the records with which a round begins. Pure.
 *
 * @module
 */

import { type CelResult, whyNotTrue } from "../../cel/expression.ts";
import { defined } from "../../base/defined.ts";
import { innerPlaces } from "../../resources/step_graph.ts";
import type { StepRecord } from "../../store/task_records.ts";
import type { Plan } from "../plan.ts";
import { findFailure, type FlowStep, type Standing } from "./flow.ts";

/** How a `repeat` goes on after a round. */
export type RoundEnd =
  | { readonly is: "again" }
  | {
    readonly is: "over";
    readonly state: "succeeded" | "failed" | "cancelled";
    /** Empty if there is none. */
    readonly reason: string;
  };

/** A round of a `repeat`. */
export interface Round {
  /** Its number, from 1. */
  readonly round: number;
  /** Most rounds. */
  readonly max: number;
}

/** Which round it is, in words. */
export function roundText({ round, max }: Round): string {
  return `round ${round} of ${max}`;
}

/**
 * How a `repeat` ends because of how its steps ended, which are all over; `undefined` if its expression
 * decides.
 */
export function endByItsSteps(
  { round }: Pick<Round, "round">,
  steps: readonly FlowStep[],
  standings: readonly Standing[],
): RoundEnd | undefined {
  if (standings.some(({ state }) => state === "cancelled")) {
    return { is: "over", state: "cancelled", reason: "cancelled" };
  }
  const failure = findFailure(steps.map(({ within: _within, ...step }) => step), standings);
  if (failure === undefined) return undefined;
  return { is: "over", state: "failed", reason: `round ${round}: ${failure}` };
}

/** How a `repeat` goes on whose expression gave `until` after a round. */
export function endByUntil({ round, max }: Round, until: CelResult): RoundEnd {
  const why = whyNotTrue(until);
  if (why === undefined) return { is: "over", state: "succeeded", reason: "" };
  if (!until.ok || until.value !== false) {
    return { is: "over", state: "failed", reason: `round ${round}: "until" ${why}` };
  }
  if (round < max) return { is: "again" };
  const rounds = max === 1 ? "its only round" : `${max} rounds`;
  return { is: "over", state: "failed", reason: `"until" is false after ${rounds}` };
}

/**
 * The records with which a round begins: that of the `repeat` at `position`, and those of its steps, which
 * have the outputs of the round before until they run.
 *
 * @param records of all steps, by position
 * @param startedAt when the first round began, if that is known
 */
export function recordsOfRound(
  { position, round, startedAt }: {
    readonly position: number;
    readonly round: number;
    readonly startedAt?: number;
  },
  { steps }: Pick<Plan, "steps">,
  records: readonly StepRecord[],
): StepRecord[] {
  const { id = "", repeat } = steps[position] ?? {};
  return [
    {
      position,
      id,
      state: "waiting",
      reason: roundText({ round, max: repeat?.max ?? round }),
      ...defined({ startedAt }),
      round,
    },
    ...innerPlaces(steps, position).map((place): StepRecord => ({
      position: place,
      id: steps[place]?.id ?? "",
      state: "pending",
      reason: "",
      round,
      ...defined({ outputs: records[place]?.outputs }),
    })),
  ];
}
