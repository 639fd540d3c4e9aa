/**
 * The steps that a retry does not run again: they are done, and need no step that runs again. Pure.
 *
 * @module
 */

import { needsOf } from "../../resources/step_graph.ts";
import type { StepRecord } from "../../store/task_records.ts";
import { isTasksReason } from "./flow.ts";
import type { Plan, PlannedStep } from "../plan.ts";

/** An ended task, with the facts that decide which of its steps run again. */
export interface EndedTask {
  /** Its steps and those under `finally`, as in the plan. */
  readonly plan: Pick<Plan, "steps" | "finally">;
  /** Record of each step, in the same order. */
  readonly records: readonly StepRecord[];
}

/**
 * The steps that are not run again. These run again: the step `from`, steps that failed, were cancelled
 * or never ran, steps that need any of those, and always the steps under `finally`.
 */
export function keptSteps({ plan: { steps }, records }: EndedTask, from?: string): StepRecord[] {
  const rerun = new Set(
    steps.filter((step, position) => step.id === from || !isDone(step, records[position]))
      .map(({ id }) => id),
  );
  for (let before = -1; before !== rerun.size;) {
    before = rerun.size;
    for (const [position, { id }] of steps.entries()) {
      if (needsOf(steps, position).some((need) => rerun.has(need))) rerun.add(id);
    }
  }
  return steps.flatMap(({ id }, position) =>
    rerun.has(id) ? [] : records.slice(position, position + 1)
  );
}

/** Whether a step is done; a skipped step only if its own condition was false. */
function isDone(step: PlannedStep, record: StepRecord | undefined): boolean {
  if (record === undefined) return false;
  if (record.state === "succeeded") return true;
  return record.state === "skipped" && step.when !== undefined && wasEvaluated(record);
}

/** Whether the condition of a skipped step was evaluated, or its task had ended before. */
function wasEvaluated({ reason }: StepRecord): boolean {
  return reason !== "" && !isTasksReason(reason);
}
