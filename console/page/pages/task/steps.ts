/**
 * The steps of a task, joined from the plan and the records of the steps.
 *
 * @module
 */

import type { Output } from "../../../../src/api/operations.ts";
import type { StepRecord, TaskRecord } from "../../../../src/api/records.ts";
import type { PlannedStepView } from "../../../../src/api/task_operations.ts";
import { shortDuration } from "../../../../src/base/duration.ts";

/** The answer of `task.plan`: the steps of a task and their needs. */
export type Plan = Output<"task.plan">;

/** A step as the screen shows it. */
export interface Step {
  readonly id: string;
  readonly state: string;
  /** Ids of the steps of this task that it waits for. */
  readonly needs: readonly string[];
  /** The record of the step; absent until there is one. */
  readonly record: StepRecord | undefined;
  /** The step of the plan; absent if the task has no plan. */
  readonly plan: PlannedStepView | undefined;
}

/** The steps of a task in the order of its plan, or of its records if it has no plan. */
export function stepsOf(task: TaskRecord, plan: Plan | undefined): readonly Step[] {
  const planned = plan?.steps ?? [];
  const ids = new Set([...planned.map(({ id }) => id), ...task.steps.map(({ id }) => id)]);
  return [...ids].map((id) => {
    const record = task.steps.find((one) => one.id === id);
    const own = planned.find((one) => one.id === id);
    const needs = (own?.needs ?? []).filter((one) => ids.has(one));
    // The first steps of a repeat need no other: they come after it, because it begins their round.
    const after = needs.length === 0 && own?.within !== undefined ? [own.within] : needs;
    return {
      id,
      state: record?.state ?? "pending",
      needs: after,
      record,
      plan: own,
    };
  });
}

/** The step to show first: a failed step, else a running one, else one that waits. */
export function stepToShow(steps: readonly Step[]): Step | undefined {
  return steps.find((one) => one.state === "failed") ??
    steps.find((one) => one.state === "running") ??
    steps.find((one) => one.state === "waiting");
}

/** A step in one sentence, for screen readers. */
export function nameOf({ id, state, needs, record, plan }: Step, nowMs: number): string {
  const took = lengthOf(record, nowMs);
  const tries = plan?.attempts ?? 1;
  const attempt = record?.attempt ?? 1;
  // It begins with the words on the screen, in the same order, because people who use voice control
  // say what they see.
  const parts = [
    `Step ${id}: ${state}`,
    took,
    attempt > 1 ? `attempt ${attempt} of ${tries}` : plan?.kind === "agent" ? plan.agent : "",
    record?.reason === undefined || record.reason === "" ? roundOf({ record, plan }) : "",
    record?.reason ?? "",
    needs.length === 0 ? "" : `after ${needs.join(", ")}`,
    plan?.finally === true ? "always runs" : "",
  ];
  return parts.filter((one) => one !== "").join(", ");
}

/** The round of a repeat, such as "round 2 of 5"; empty for any other step, and before it begins. */
export function roundOf({ record, plan }: Pick<Step, "record" | "plan">): string {
  if (plan?.repeat === undefined || record === undefined || record.started_at === null) return "";
  return `round ${record.round ?? 1} of ${plan.repeat.max}`;
}

/** How long a step took, or has taken so far; empty before it starts. */
export function lengthOf(record: StepRecord | undefined, nowMs: number): string {
  const from = record?.started_at ?? null;
  if (from === null) return "";
  const end = record?.finished_at ?? null;
  const to = end === null ? nowMs : Date.parse(end);
  return shortDuration(Math.max(0, to - Date.parse(from)));
}
