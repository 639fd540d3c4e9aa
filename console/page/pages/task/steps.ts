/**
 * The steps of a task: what the plan says of them, and how far they are.
 *
 * @module
 */

import type { Output } from "../../../../src/api/operations.ts";
import type { StepRecord, TaskRecord } from "../../../../src/api/records.ts";
import type { PlannedStepView } from "../../../../src/api/task_operations.ts";
import { shortDuration } from "../../../../src/base/duration.ts";

/** The plan of a task. */
export type Plan = Output<"task.plan">;

/** One step as it is shown. */
export interface Step {
  readonly id: string;
  readonly state: string;
  /** Ids of the steps it waits for, those only that the task has. */
  readonly needs: readonly string[];
  /** Absent as long as nothing is known of it but the plan. */
  readonly record: StepRecord | undefined;
  /** Absent where the task has no plan. */
  readonly plan: PlannedStepView | undefined;
}

/** The steps of a task in the order of its plan; of its records where it has none. */
export function stepsOf(task: TaskRecord, plan: Plan | undefined): readonly Step[] {
  const planned = plan?.steps ?? [];
  const ids = new Set([...planned.map(({ id }) => id), ...task.steps.map(({ id }) => id)]);
  return [...ids].map((id) => {
    const record = task.steps.find((one) => one.id === id);
    const own = planned.find((one) => one.id === id);
    return {
      id,
      state: record?.state ?? "pending",
      needs: (own?.needs ?? []).filter((one) => ids.has(one)),
      record,
      plan: own,
    };
  });
}

/** The step that is to be seen first: one that failed, else one that runs. */
export function stepToShow(steps: readonly Step[]): Step | undefined {
  return steps.find((one) => one.state === "failed") ??
    steps.find((one) => one.state === "running");
}

/** A step in one sentence, for a screen reader. */
export function nameOf({ id, state, needs, record, plan }: Step, nowMs: number): string {
  const took = lengthOf(record, nowMs);
  const tries = plan?.attempts ?? 1;
  const attempt = record?.attempt ?? 1;
  // It begins with what is to be read on the screen, in the same order: who speaks to the page says
  // what they see.
  const parts = [
    `Step ${id}: ${state}`,
    took,
    attempt > 1 ? `attempt ${attempt} of ${tries}` : plan?.kind === "agent" ? plan.agent : "",
    record?.reason ?? "",
    needs.length === 0 ? "" : `after ${needs.join(", ")}`,
    plan?.finally === true ? "always runs" : "",
  ];
  return parts.filter((one) => one !== "").join(", ");
}

/** How long a step took, or has taken so far; empty before it starts. */
export function lengthOf(record: StepRecord | undefined, nowMs: number): string {
  const from = record?.started_at ?? null;
  if (from === null) return "";
  const end = record?.finished_at ?? null;
  const to = end === null ? nowMs : Date.parse(end);
  return shortDuration(Math.max(0, to - Date.parse(from)));
}
