/**
 * Which steps a retry carries over: those that are done and that wait for nothing that
 * runs again. Pure.
 *
 * @module
 */

import { needsOf } from "../../resources/step_graph.ts";
import type { StepRecord } from "../../store/task_records.ts";
import { OUT_OF_TIME } from "./flow.ts";
import type { Plan, PlannedStep } from "../plan.ts";

/** What of a task is looked at. */
export interface EndedTask {
  /** Its steps and those under `finally`, as the plan has them. */
  readonly plan: Pick<Plan, "steps" | "finally">;
  /** How each ended, in the same order. */
  readonly records: readonly StepRecord[];
}

/**
 * The steps that are not run again: not the step `from` nor what failed, was cancelled or never
 * ran, nor what waits for any of those. Steps under `finally` always run again.
 */
export function keptSteps({ plan: { steps }, records }: EndedTask, from?: string): StepRecord[] {
  const again = new Set(
    steps.filter((step, place) => step.id === from || !isDone(step, records[place]))
      .map(({ id }) => id),
  );
  for (let before = -1; before !== again.size;) {
    before = again.size;
    for (const [place, { id }] of steps.entries()) {
      if (needsOf(steps, place).some((need) => again.has(need))) again.add(id);
    }
  }
  return steps.flatMap(({ id }, place) => again.has(id) ? [] : records.slice(place, place + 1));
}

/** Whether a step came to its end: a skipped one only where its own condition said so. */
function isDone(step: PlannedStep, record: StepRecord | undefined): boolean {
  if (record === undefined) return false;
  if (record.state === "succeeded") return true;
  return record.state === "skipped" && step.when !== undefined && wasLookedAt(record);
}

/** Of a step that its task had no time for, nobody knows what its condition would have said. */
function wasLookedAt({ reason }: StepRecord): boolean {
  return reason !== "" && reason !== OUT_OF_TIME;
}
