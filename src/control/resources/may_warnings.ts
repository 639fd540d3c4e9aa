/**
 * Warnings about agents that run without a sandbox in tasks that may change files at a forge: such an
 * agent reaches the keys of svc, so `may` does not hold it.
 *
 * @module
 */

import { FORGES } from "../../base/forge_names.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { displayName, keyOf, type Resource, type ResourceKey } from "../../resources/resource.ts";
import { NO_SANDBOX } from "../../resources/sandbox.ts";
import type { TriggerSpec } from "../../resources/trigger.ts";
import type { WorkflowSpec } from "../../resources/workflow.ts";
import { type Plan, type PlannedStep, Planner } from "../../tasks/plan.ts";
import { requires, type Sandboxes } from "../../tasks/sandbox/step_sandbox.ts";
import { usedBy } from "../records/approval_warnings.ts";

/**
 * The warnings about what was applied, as the plans of its triggers have it; each step once, however many
 * triggers start it.
 *
 * @param applied The resources of the input.
 * @param proposed The catalog as it is with them.
 */
export function mayWarnings(
  applied: readonly ResourceKey[],
  proposed: Catalog,
  { required }: Pick<Sandboxes, "required">,
): string[] {
  // A step outside of a sandbox does not run then.
  if (requires(required, { hasAgent: true, hasSession: false })) return [];
  const isApplied = new Set(applied.map(keyOf));
  const planner = new Planner(proposed);
  const warnings = new Map<string, string>();
  for (const trigger of proposed.list("Trigger") as Resource<TriggerSpec>[]) {
    const { project, spec: { action } } = trigger;
    if (action === undefined) continue;
    const workflow = proposed.find<WorkflowSpec>("Workflow", project, action.workflow);
    const outputs = workflow === undefined ? [] : changesOf(workflow.spec);
    if (workflow === undefined || outputs.length === 0) continue;
    if (!usedBy(trigger, action, workflow).some((key) => isApplied.has(keyOf(key)))) continue;
    const { plan } = planner.plan(trigger);
    for (const id of plan === undefined ? [] : bareAgents(JSON.parse(plan.json) as Plan)) {
      const place = `${displayName(workflow)}: step "${id}"`;
      const key = `${keyOf(workflow)} ${id}`;
      if (warnings.has(key)) continue;
      warnings.set(
        key,
        `${place} runs an agent without a sandbox for ${displayName(trigger)}, and its task may ` +
          `${
            outputs.join(" and ")
          }: it can reach the keys of svc, so may does not hold it. Give it ` +
          "a sandbox (docs/sandbox.md)",
      );
    }
  }
  return [...warnings.values()];
}

/** The outputs of a workflow whose effect is a commit. */
function changesOf({ may }: WorkflowSpec): readonly string[] {
  return (["pull", "push"] as const).filter((output) =>
    FORGES.some((forge) => may?.[forge]?.[output] !== undefined)
  );
}

/** The ids of the steps of a plan in which an agent, or one that takes over from it, has no sandbox. */
function bareAgents({ steps, finally: last = [] }: Plan): readonly string[] {
  const isBare = ({ agent, sandbox }: Pick<PlannedStep, "agent" | "sandbox">) =>
    agent !== undefined && (sandbox === undefined || sandbox === NO_SANDBOX);
  return [...steps, ...last].filter((step) => [step, ...step.fallbacks ?? []].some(isBare))
    .map(({ id }) => id);
}
