/**
 * The steps that leave the sandbox: where the nearest manifest that says something says `sandbox: none`.
 *
 * @module
 */

import type { AgentSpec } from "../../resources/agent.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { displayName, keyOf, type Resource } from "../../resources/resource.ts";
import { NO_SANDBOX, type SandboxField } from "../../resources/sandbox.ts";
import { agentNames, type FlatStep, runsProgram } from "../../resources/step.ts";
import { allSteps } from "../../resources/step_list.ts";
import type { TriggerSpec } from "../../resources/trigger.ts";
import type { WorkflowSpec } from "../../resources/workflow.ts";
import type { WorkspaceSpec } from "../../resources/workspace.ts";

type Workflow = Pick<Resource<WorkflowSpec>, "kind" | "name" | "project" | "spec">;

/** Finds such steps in the workflows of a catalog that does not change meanwhile. */
export class StepsOutside {
  readonly #catalog: Pick<Catalog, "find" | "list">;
  #workspaces: ReadonlyMap<string, readonly string[]> | undefined;

  /** Nothing is looked for yet. */
  constructor(catalog: Pick<Catalog, "find" | "list">) {
    this.#catalog = catalog;
  }

  /** Their ids in a workflow, in any of the workspaces in which triggers start it. */
  of(workflow: Workflow): string[] {
    return allSteps(workflow.spec).filter((step) => this.#isOutside(step, workflow))
      .map(({ id }) => id);
  }

  #isOutside(step: FlatStep, workflow: Workflow): boolean {
    const { project } = workflow;
    const isNone = (field: SandboxField) => field === NO_SANDBOX;
    if (!runsProgram(step)) return false;
    if (step.sandbox !== undefined) return isNone(step.sandbox);
    const agents = agentNames(step).map((name) =>
      this.#catalog.find<AgentSpec>("Agent", project, name)?.spec.sandbox
    );
    if (agents.some((field) => field !== undefined && isNone(field))) return true;
    if (agents.length > 0 && !agents.includes(undefined)) return false;
    if (workflow.spec.sandbox !== undefined) return isNone(workflow.spec.sandbox);
    return this.#workspacesOf(workflow).some((name) => {
      const field = this.#catalog.find<WorkspaceSpec>("Workspace", project, name)?.spec.sandbox;
      return field !== undefined && isNone(field);
    });
  }

  #workspacesOf(workflow: Workflow): readonly string[] {
    if (this.#workspaces === undefined) {
      const found = new Map<string, string[]>();
      for (const { project, spec } of this.#catalog.list("Trigger") as Resource<TriggerSpec>[]) {
        if (spec.action === undefined) continue;
        const { workflow: name, workspace } = spec.action;
        const key = keyOf({ kind: "Workflow", project, name });
        found.set(key, [...found.get(key) ?? [], workspace]);
      }
      this.#workspaces = found;
    }
    return this.#workspaces.get(keyOf(workflow)) ?? [];
  }
}

/** The steps that leave the sandbox in a catalog, and did not before, as the audit names them. */
export function stepsLeaving(before: Catalog, after: Catalog): string[] {
  const [old, now] = [new StepsOutside(before), new StepsOutside(after)];
  return (after.list("Workflow") as Resource<WorkflowSpec>[]).flatMap((workflow) => {
    const outside = now.of(workflow);
    if (outside.length === 0) return [];
    const known = before.find<WorkflowSpec>("Workflow", workflow.project, workflow.name);
    const earlier = known === undefined ? [] : old.of(known);
    return outside.filter((id) => !earlier.includes(id))
      .map((id) => `${displayName(workflow)}: step ${id}, sandbox: none`);
  });
}
