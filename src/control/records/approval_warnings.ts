/**
 * Warnings about questions to people that a step of their own task could answer: which protection holds,
 * as the question itself says it later.
 *
 * @module
 */

import type { Catalog } from "../../resources/catalog.ts";
import { displayName, keyOf, type Resource, type ResourceKey } from "../../resources/resource.ts";
import { agentNames } from "../../resources/step.ts";
import { allSteps } from "../../resources/step_list.ts";
import type { TriggerSpec } from "../../resources/trigger.ts";
import type { WorkflowSpec } from "../../resources/workflow.ts";
import { type ProtectionFacts, protectionOf } from "../../tasks/sandbox/approval_protection.ts";
import { type Plan, Planner } from "../../tasks/plan.ts";

/** What a step can do to a question that no sandbox guards. */
const WEAKNESS = {
  socket: "a step outside a sandbox could answer only by changing the database",
  none:
    "a step outside a sandbox could answer itself, so the question guards against mistakes only",
};

/**
 * The questions of the workflows that triggers start, each once with the protection that it has in the
 * plan of any of them; nothing of those whose steps are all held by sandboxes.
 *
 * @param catalog The resources as they are, or would be.
 * @param facts What the daemon says; it is asked only if there is a question.
 * @param applied The resources of an input, if only what they have a part in is meant.
 */
export async function approvalWarnings(
  catalog: Catalog,
  facts: () => Promise<Omit<ProtectionFacts, "by">>,
  applied?: readonly ResourceKey[],
): Promise<string[]> {
  const isApplied = applied && new Set(applied.map(keyOf));
  const planner = new Planner(catalog);
  const warnings = new Set<string>();
  let known: Omit<ProtectionFacts, "by"> | undefined;
  for (const trigger of catalog.list("Trigger") as Resource<TriggerSpec>[]) {
    const { project, spec: { action } } = trigger;
    if (action === undefined) continue;
    const workflow = catalog.find<WorkflowSpec>("Workflow", project, action.workflow);
    if (workflow === undefined || !asks(workflow.spec)) continue;
    const isMeant = isApplied === undefined ||
      usedBy(trigger, action, workflow).some((key) => isApplied.has(keyOf(key)));
    const { plan: planned } = isMeant ? planner.plan(trigger) : { plan: undefined };
    if (planned === undefined) continue;
    known ??= await facts();
    const plan = JSON.parse(planned.json) as Plan;
    for (const { id, approval } of plan.steps) {
      if (approval === undefined) continue;
      const protection = protectionOf(plan, { ...known, by: approval.by });
      if (protection === "sandbox") continue;
      warnings.add(
        `${displayName(workflow)}: step "${id}" asks people, and ${WEAKNESS[protection]}. ` +
          "Give all steps a sandbox (docs/sandbox.md)",
      );
    }
  }
  return [...warnings];
}

const asks = (spec: WorkflowSpec) => allSteps(spec).some(({ approval }) => approval !== undefined);

/** The resources that decide about the sandboxes of a trigger's steps. */
export function usedBy(
  { kind, project, name }: Resource<TriggerSpec>,
  action: TriggerSpec["action"] & object,
  { spec }: Resource<WorkflowSpec>,
): readonly ResourceKey[] {
  const agents = allSteps(spec).flatMap(agentNames);
  return [
    { kind, project, name },
    { kind: "Workflow", project, name: action.workflow },
    { kind: "Workspace", project, name: action.workspace },
    ...agents.map((agent) => ({ kind: "Agent", project, name: agent })),
  ];
}
