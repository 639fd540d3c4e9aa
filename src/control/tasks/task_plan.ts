/**
 * `task plan`: the steps of a task and what each waits for, from the plan that the task has copied.
 * The workflow as applied now may say something else.
 *
 * @module
 */

import type { Input, Output } from "../../api/operations.ts";
import type { PlannedStepView } from "../../api/task_operations.ts";
import { findDurationSecs } from "../../base/duration.ts";
import type { TaskStore } from "../../store/task_store.ts";
import type { Plan } from "../../tasks/plan.ts";
import { waitsFor } from "../../tasks/run/flow.ts";
import { limitOf } from "../../tasks/run/step_limit.ts";
import { findTask } from "../records/records.ts";
import { taskView } from "../records/views.ts";

/**
 * The plan of a task, without what its steps are given.
 *
 * @throws {AppError} `not_found`.
 */
export async function taskPlan(
  input: Input<"task.plan">,
  { store }: { readonly store: TaskStore },
): Promise<Output<"task.plan">> {
  const { id, workflow, reason, waits_for: waits } = taskView(await findTask(input.id, store));
  const known = { id, workflow, ...(waits === undefined ? {} : { waits: reason }) };
  const json = await store.findPlan(id);
  if (json === undefined) return { ...known, planned: false, timeout_secs: null, steps: [] };
  const plan = JSON.parse(json) as Plan;
  return {
    ...known,
    planned: true,
    timeout_secs: secsOf(plan.timeout),
    steps: stepViews(plan),
  };
}

function stepViews(plan: Plan): PlannedStepView[] {
  const needs = waitsFor(plan);
  return [...plan.steps, ...plan.finally ?? []].map((step, position) => {
    const isFinally = position >= plan.steps.length;
    return {
      id: step.id,
      kind: step.agent === undefined ? "run" : "agent",
      agent: step.agent?.name ?? null,
      needs: needs[position] ?? [],
      when: step.when ?? null,
      finally: isFinally,
      timeout_secs: secsOf(limitOf(step, isFinally)?.time),
      attempts: step.retry?.attempts ?? 1,
      continue_on_error: step.continueOnError === true,
    };
  });
}

function secsOf(time: string | number | undefined): number | null {
  return time === undefined ? null : findDurationSecs(time) ?? null;
}
