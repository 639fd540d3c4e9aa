/**
 * `task plan`: the steps of a task and what each waits for, from the plan of the task. The workflow
 * may have changed since.
 *
 * @module
 */

import type { Input, Output } from "../../api/operations.ts";
import type { PlannedStepView } from "../../api/task_operations.ts";
import { defined } from "../../base/defined.ts";
import { findDurationSecs } from "../../base/duration.ts";
import { NO_SANDBOX } from "../../resources/sandbox.ts";
import { runsProgram } from "../../resources/step.ts";
import { plannedSteps } from "../../resources/step_list.ts";
import { DEFAULT_SANDBOX, type Plan, type PlannedStep } from "../../tasks/plan.ts";
import { requires, type Sandboxes } from "../../tasks/sandbox/step_sandbox.ts";
import { waitsFor } from "../../tasks/run/flow.ts";
import { type DefaultLimits, limitOf, taskLimitOf } from "../../tasks/time_limits.ts";
import { findTask } from "../records/records.ts";
import { taskView } from "../records/views.ts";
import { rulesView } from "../sandboxes/rules_view.ts";
import type { TasksHost } from "./task_actions.ts";

/** The plans of a daemon, and its own part in them. */
export interface PlanHost extends Pick<TasksHost, "store" | "timeLimits"> {
  readonly sandboxes: Pick<Sandboxes, "required">;
}

/**
 * The plan of a task, without the contents of its steps.
 *
 * @throws {AppError} `not_found`.
 */
export async function taskPlan(
  input: Input<"task.plan">,
  { store, timeLimits: limits, sandboxes }: PlanHost,
): Promise<Output<"task.plan">> {
  const { id, workflow, reason } = taskView(await findTask(input.id, store));
  const known = { id, workflow, reason };
  const json = await store.findPlan(id);
  if (json === undefined) {
    return { ...known, planned: false, timeout_secs: null, timeout_from: null, steps: [] };
  }
  const plan = JSON.parse(json) as Plan;
  return {
    ...known,
    planned: true,
    ...limitView(taskLimitOf(plan, limits)),
    steps: stepViews(plan, limits, sandboxes),
  };
}

function stepViews(
  plan: Plan,
  limits: DefaultLimits,
  { required }: PlanHost["sandboxes"],
): PlannedStepView[] {
  const needs = waitsFor(plan);
  const steps = plannedSteps(plan);
  const hasAgent = steps.some(({ agent }) => agent !== undefined);
  return steps.map((step, position) => {
    const isFinally = position >= plan.steps.length;
    const isRequired = requires(required, { hasAgent, hasSession: false });
    return {
      id: step.id,
      kind: kindOf(step),
      ...defined({ wait_for: step.waitFor, repeat: step.repeat, within: step.within }),
      ...defined({ workflow: step.workflow }),
      agent: step.agent?.name ?? null,
      fallbacks: (step.fallbacks ?? []).map(({ agent, sandbox }) => ({
        agent: agent?.name ?? null,
        sandbox: sandboxView(sandbox, isRequired),
      })),
      needs: needs[position] ?? [],
      when: step.when ?? null,
      finally: isFinally,
      ...limitView(runsProgram(step) ? limitOf(step, { isFinally, plan, limits }) : undefined),
      attempts: step.retry?.attempts ?? 1,
      continue_on_error: step.continueOnError === true,
      may: step.may ?? null,
      sandbox: sandboxView(step.sandbox, isRequired && runsProgram(step)),
    };
  });
}

function kindOf(
  { waitFor, approval, repeat, workflow, agent }: PlannedStep,
): PlannedStepView["kind"] {
  if (workflow !== undefined) return "workflow";
  if (waitFor !== undefined) return "wait";
  if (approval !== undefined) return "approval";
  if (repeat !== undefined) return "repeat";
  return agent === undefined ? "run" : "agent";
}

function sandboxView(
  planned: PlannedStep["sandbox"],
  isRequired: boolean,
): PlannedStepView["sandbox"] {
  const sandbox = planned ?? (isRequired ? DEFAULT_SANDBOX : null);
  if (sandbox === null || sandbox === NO_SANDBOX) return sandbox;
  const { name, spec, isDefault } = sandbox;
  return {
    name: name ?? null,
    default: isDefault === true,
    required: planned === undefined,
    read: spec.read ?? [],
    write: spec.write ?? [],
    ...rulesView(spec),
  };
}

/** A limit in seconds, and what has set it. */
function limitView<From>(
  limit: { readonly time: string | number; readonly from: From } | undefined,
) {
  if (limit === undefined) return { timeout_secs: null, timeout_from: null };
  return { timeout_secs: findDurationSecs(limit.time) ?? null, timeout_from: limit.from };
}
