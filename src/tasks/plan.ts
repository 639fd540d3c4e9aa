/**
 * What a task will run, copied from the resources at the moment it becomes runnable (contract 2):
 * later applies and deletes do not touch it. Secrets stay references.
 *
 * @module
 */

import { resolve } from "node:path";
import { sha256Hex } from "../base/bytes.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { Env } from "../resources/env.ts";
import type { Resource } from "../resources/resource.ts";
import type { TriggerSpec } from "../resources/trigger.ts";
import type { Step, WorkflowSpec } from "../resources/workflow.ts";
import type { WorkspaceSpec } from "../resources/workspace.ts";
import type { NewTask } from "../store/task_records.ts";

/** A workflow and its workspace, as one task runs them. */
export interface Plan {
  /** Steps in order. */
  readonly steps: readonly Step[];
  /** Environment of the workflow. */
  readonly env: Env;
  /** Limit of the whole task, as written. */
  readonly timeout?: string | number;
  /** Where the steps run. */
  readonly workspace: { readonly path: string; readonly env: Env };
}

/** The parts of a task that say what it runs, or what is missing. */
export type Planned = Pick<NewTask, "workflow" | "workspace" | "plan" | "missing">;

/** Plans tasks of triggers; remembers each plan until a resource changes. */
export class Planner {
  readonly #catalog: Catalog;
  readonly #dataDir: string;
  #version = -1;
  #plans = new WeakMap<Resource<TriggerSpec>, Planned>();

  /** Plans from `catalog`; relative workspace paths start at `dataDir`. */
  constructor(catalog: Catalog, dataDir: string) {
    this.#catalog = catalog;
    this.#dataDir = dataDir;
  }

  /** What a task of this trigger runs now. */
  plan(trigger: Resource<TriggerSpec>): Planned {
    if (this.#version !== this.#catalog.version) {
      this.#plans = new WeakMap();
      this.#version = this.#catalog.version;
    }
    const known = this.#plans.get(trigger);
    if (known !== undefined) return known;
    const made = this.#make(trigger);
    this.#plans.set(trigger, made);
    return made;
  }

  #make({ project, spec }: Resource<TriggerSpec>): Planned {
    const { workflow: workflowName, workspace: workspaceName } = spec.action;
    const names = { workflow: workflowName, workspace: workspaceName };
    const workflow = this.#catalog.find<WorkflowSpec>("Workflow", project, workflowName);
    const workspace = this.#catalog.find<WorkspaceSpec>("Workspace", project, workspaceName);
    const missing = [
      ...(workflow === undefined ? [`Workflow "${workflowName}"`] : []),
      ...(workspace === undefined ? [`Workspace "${workspaceName}"`] : []),
    ];
    if (workflow === undefined || workspace === undefined) {
      return { ...names, missing: `missing in project "${project}": ${missing.join(", ")}` };
    }
    const plan: Plan = {
      steps: workflow.spec.steps,
      env: workflow.spec.env ?? {},
      ...(workflow.spec.timeout === undefined ? {} : { timeout: workflow.spec.timeout }),
      workspace: {
        path: resolve(this.#dataDir, workspace.spec.path),
        env: workspace.spec.env ?? {},
      },
    };
    const json = JSON.stringify(plan);
    return { ...names, plan: { hash: sha256Hex(json), json } };
  }
}
