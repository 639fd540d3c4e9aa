/**
 * The plan of a task: everything it will run, copied from the resources when the task is made, so that
 * later applies and deletes do not affect it. Secrets stay references.
 *
 * @module
 */

import { sha256Hex } from "../base/bytes.ts";
import { defined } from "../base/defined.ts";
import type { ResolvePath } from "../base/user_paths.ts";
import { type AgentSpec, DEFAULT_DELIVERY } from "../resources/agent.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { Env } from "../resources/env.ts";
import type { WebhookSpec } from "../resources/event_webhook.ts";
import type { Resource } from "../resources/resource.ts";
import type { Shell } from "../resources/shell.ts";
import type { Step } from "../resources/step.ts";
import type { StepTemplateSpec } from "../resources/step_template.ts";
import type { TriggerSpec } from "../resources/trigger.ts";
import type { WorkflowSpec } from "../resources/workflow.ts";
import { DEFAULT_ISOLATION, type WorkspaceSpec } from "../resources/workspace.ts";
import type { NewTask } from "../store/task_records.ts";

/** A step as one task runs it, with its agent and template copied into it. */
export interface PlannedStep extends Omit<Step, "agent" | "template"> {
  /** Absent for a step that is a shell line. */
  readonly agent?: PlannedAgent;
}

/** An agent as one task runs it. */
export interface PlannedAgent {
  readonly name: string;
  readonly command: string;
  /** How the agent receives the prompt. */
  readonly promptDelivery: "stdin" | "arg" | "env" | "file";
  readonly env: Env;
  /** Time limit of a run, as written; the step's own limit takes precedence. */
  readonly timeout?: string | number;
}

/** What the one has to be allowed whose event starts a task. */
export interface PlannedGuard {
  /** At the platform. */
  readonly permission: "write";
  /** Connection over which the platform is asked; the one that covers the repository when absent. */
  readonly connection?: string;
}

/** A workflow and its workspace, as one task runs them. */
export interface Plan {
  /** In the order they were written. */
  readonly steps: readonly PlannedStep[];
  /** Steps that run after all others; absent in plans of older versions. */
  readonly finally?: readonly PlannedStep[];
  /** Environment of the workflow. */
  readonly env: Env;
  /** Time limit of the whole task, as written. */
  readonly timeout?: string | number;
  /**
   * What the task needs and was missing when it was planned: then only the steps under `finally`
   * run that need none of it.
   */
  readonly missing?: string;
  /** Text template of the goal. */
  readonly goal?: string;
  /** Who may start it; absent where everybody may whose event the trigger admits. */
  readonly from?: PlannedGuard;
  readonly workspace: PlannedWorkspace;
}

/** The workspace in which the steps of one task run. */
export interface PlannedWorkspace {
  /** As the manifest has it: a plan means the same on every machine, see {@linkcode planHere}. */
  readonly path: string;
  /** `shared` when absent, in plans of older versions. */
  readonly isolation?: "shared" | "worktree" | "copy";
  /** Whether its worktrees start at the newest commit of the remote. */
  readonly fetch?: true;
  /** Names or labels of the nodes on which the task may run; on any when absent. */
  readonly nodes?: readonly string[];
  readonly env: Env;
}

/** A stored plan as this machine runs it: the path of its workspace is absolute. */
export function planHere(json: string, resolvePath: ResolvePath): Plan {
  const plan = JSON.parse(json) as Plan;
  const { workspace } = plan;
  return { ...plan, workspace: { ...workspace, path: resolvePath(workspace.path) } };
}

/** The parts of a task that hold its plan, or why it has none. */
export type Planned = Pick<
  NewTask,
  "workflow" | "workspace" | "plan" | "missing" | "workspaceMax"
>;

/** Plans tasks of triggers; remembers each plan until a resource changes. */
export class Planner {
  readonly #catalog: Catalog;
  #version = -1;
  #plans = new WeakMap<Resource<TriggerSpec>, Planned>();
  #readsSigned = new WeakMap<Planned, boolean>();

  /** Plans from `catalog`. */
  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** The present plan for a task of this trigger. */
  plan(trigger: Resource<TriggerSpec>): Planned {
    if (this.#version !== this.#catalog.version) {
      this.#plans = new WeakMap();
      this.#version = this.#catalog.version;
    }
    const known = this.#plans.get(trigger);
    if (known !== undefined) return known;
    const made = this.planFor(trigger.project, trigger.spec.action, trigger.spec.event.webhook);
    this.#plans.set(trigger, made);
    return made;
  }

  /**
   * Whether the tasks of this trigger may read the variable `signed`: rather once too often than
   * once too seldom.
   */
  readsSigned(trigger: Resource<TriggerSpec>): boolean {
    const planned = this.plan(trigger);
    const known = this.#readsSigned.get(planned);
    if (known !== undefined) return known;
    const found = /\bsigned\b/.test(planned.plan?.json ?? "");
    this.#readsSigned.set(planned, found);
    return found;
  }

  /** The present plan for a task of this action, with the guard of this webhook. */
  planFor(project: string, action: TriggerSpec["action"], webhook: WebhookSpec = {}): Planned {
    const names = { workflow: action.workflow, workspace: action.workspace };
    const missing = new Set<string>();
    const find = <Spec>(kind: string, name: string): Spec | undefined => {
      const found = this.#catalog.find<Spec>(kind, project, name);
      if (found === undefined) missing.add(`${kind} "${name}"`);
      return found?.spec;
    };
    const workflow = find<WorkflowSpec>("Workflow", names.workflow);
    const workspace = find<WorkspaceSpec>("Workspace", names.workspace);
    const { shell } = workflow ?? {};
    const steps = workflow?.steps.map((step) => planStep(step, shell, find)) ?? [];
    const last = workflow?.finally?.flatMap((step) => {
      const known = missing.size;
      const planned = planStep(step, shell, find);
      return missing.size === known ? [planned] : [];
    });
    const lacks = missing.size === 0
      ? {}
      : { missing: `missing in project "${project}": ${[...missing].join(", ")}` };
    const canRun = missing.size === 0 || (last ?? []).length > 0;
    if (workflow === undefined || !canRun) return { ...names, ...lacks };
    const from = guardOf(webhook, [...steps, ...last ?? []]);
    const plan: Plan = {
      ...lacks,
      steps,
      ...defined({ finally: last }),
      env: workflow.env ?? {},
      ...defined({ timeout: workflow.timeout, goal: action.goal, from }),
      workspace: {
        path: workspace?.path ?? "",
        isolation: workspace?.isolation ?? DEFAULT_ISOLATION,
        ...(workspace?.fetch === true ? { fetch: true } : {}),
        ...(workspace?.nodes === undefined ? {} : { nodes: workspace.nodes }),
        env: workspace?.env ?? {},
      },
    };
    const json = JSON.stringify(plan);
    const { maxParallel } = workspace ?? {};
    return {
      ...names,
      ...lacks,
      plan: { hash: sha256Hex(json), json },
      ...defined({ workspaceMax: maxParallel }),
    };
  }
}

/** The guard of a webhook, where it is for these steps. */
function guardOf(
  { from, connection }: WebhookSpec,
  steps: readonly PlannedStep[],
): PlannedGuard | undefined {
  if (from === undefined) return undefined;
  if (from.only === "agents" && steps.every(({ agent }) => agent === undefined)) return undefined;
  const { permission } = from;
  return connection === undefined ? { permission } : { permission, connection };
}

/** Copies agent, prompt and shell into a step; `find` notes what is missing. */
function planStep(
  { agent: agentName, template: templateName, ...step }: Step,
  shell: Shell | undefined,
  find: <Spec>(kind: string, name: string) => Spec | undefined,
): PlannedStep {
  if (agentName === undefined) {
    return step.shell !== undefined || shell === undefined ? step : { ...step, shell };
  }
  const agent = find<AgentSpec>("Agent", agentName);
  const template = templateName === undefined
    ? undefined
    : find<StepTemplateSpec>("StepTemplate", templateName);
  return {
    ...step,
    agent: {
      name: agentName,
      command: agent?.command ?? "",
      promptDelivery: agent?.promptDelivery ?? DEFAULT_DELIVERY,
      env: agent?.env ?? {},
      ...(agent?.timeout === undefined ? {} : { timeout: agent.timeout }),
    },
    prompt: step.prompt ?? template?.prompt ?? "",
  };
}
