/**
 * The plan of a task: everything that it will run, copied from the resources when the task is made, so
 * that later changes of the resources do not affect it. Secrets stay references.
 *
 * @module
 */

import type { AdapterName } from "../agents/adapters.ts";
import { sha256Hex } from "../base/bytes.ts";
import { defined } from "../base/defined.ts";
import type { ResolvePath } from "../base/user_paths.ts";
import { adapterOf, type AgentSpec, DEFAULT_DELIVERY } from "../resources/agent.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { Env } from "../resources/env.ts";
import type { WebhookSpec } from "../resources/event_webhook.ts";
import type { May } from "../resources/may.ts";
import type { Resource } from "../resources/resource.ts";
import { NO_SANDBOX, type SandboxField, type SandboxSpec } from "../resources/sandbox.ts";
import type { Shell } from "../resources/shell.ts";
import { agentNames, type FlatStep, runsProgram } from "../resources/step.ts";
import { allSteps, flatSteps } from "../resources/step_list.ts";
import type { StepTemplateSpec } from "../resources/step_template.ts";
import type { TriggerSpec } from "../resources/trigger.ts";
import type { WorkflowSpec } from "../resources/workflow.ts";
import { isolationOf, type WorkspaceSpec } from "../resources/workspace.ts";
import type { NewTask } from "../store/task_records.ts";

/**
 * A step in a plan, with copies of its agent, its template and its sandbox. The steps of a `repeat` stand
 * behind it, and name it (`within`).
 */
export interface PlannedStep extends Omit<FlatStep, "agent" | "template" | "sandbox"> {
  /** Absent for a step that is a shell line. */
  readonly agent?: PlannedAgent;
  /** The agents that take over from one that cannot go on, in this order; absent where there is none. */
  readonly fallbacks?: readonly Pick<PlannedStep, "agent" | "sandbox">[];
  /** Absent where nothing asks for a sandbox; `none` where the step was to have none. */
  readonly sandbox?: PlannedSandbox | typeof NO_SANDBOX;
}

/** The sandbox of a step in a plan. */
export interface PlannedSandbox {
  /** Name of the Sandbox; absent for one that has none. */
  readonly name?: string;
  readonly spec: SandboxSpec;
  /** Whether no manifest names it: an agent may read what comes from outside. */
  readonly isDefault?: true;
}

/** The sandbox of steps that have none of their own, where a stranger's text meets an agent, or with a session. */
export const DEFAULT_SANDBOX: PlannedSandbox = { spec: { network: "all" }, isDefault: true };

/** An agent in a plan. */
export interface PlannedAgent {
  readonly name: string;
  readonly command: string;
  /** How the agent receives the prompt. */
  readonly promptDelivery: "stdin" | "arg" | "env" | "file";
  readonly env: Env;
  /** The adapter that reads its output; absent where that is shown as it is. */
  readonly output?: AdapterName;
  /** Time limit of an attempt, as written; the limit of the step takes precedence. */
  readonly timeout?: string | number;
  /** Options that begin a session, and go on with it; absent for an agent without. */
  readonly resume?: AgentSpec["resume"];
  /** Most steps that run it at once (`maxParallel`). */
  readonly seats?: number;
}

/** The permission that the sender of an event needs to start a task. */
export interface PlannedGuard {
  /** The permission for the repository at the platform. */
  readonly permission: "write";
  /** The Connection that asks the platform; if absent, the Connection that covers the repository. */
  readonly connection?: string;
}

/** What a trigger has to do with the plans of its tasks, and of those that their steps start. */
export interface PlannedSource {
  readonly webhook?: Pick<WebhookSpec, "from" | "connection">;
  /** Present if nobody sends its events. */
  readonly cron?: true;
}

/** A workflow and its workspace as one task runs them. */
export interface Plan {
  /** In the order of the manifest. */
  readonly steps: readonly PlannedStep[];
  /** Steps that run after all others; absent in plans of older versions. */
  readonly finally?: readonly PlannedStep[];
  /** Environment of the workflow. */
  readonly env: Env;
  /** What the task may do at a platform, as written; absent where the workflow does not say. */
  readonly may?: May;
  /** Time limit of the whole task, as written. */
  readonly timeout?: string | number;
  /** The outputs of the workflow, as templates. */
  readonly outputs?: Readonly<Record<string, string>>;
  /** What the tasks that its steps start need to know of its trigger; absent if they start none. */
  readonly source?: PlannedSource;
  /** The workspaces in whose directory the tasks above it run. */
  readonly sharedAbove?: readonly string[];
  /**
   * The resources that were missing when the task was planned. Then only those steps under `finally` run
   * that need none of them.
   */
  readonly missing?: string;
  /** Text template of the goal. */
  readonly goal?: string;
  /** The permission that the sender needs; absent where every admitted event starts the task. */
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

/** The parts of a new task that hold its plan, or the reason why it has none. */
export type PlannedTask = Pick<
  NewTask,
  "workflow" | "workspace" | "plan" | "missing" | "workspaceMax"
>;

/** Plans tasks of triggers; keeps each plan until a resource changes. */
export class Planner {
  readonly #catalog: Catalog;
  #version = -1;
  #plans = new WeakMap<Resource<TriggerSpec>, PlannedTask>();
  /** The plans among them by their hash: triggers with the same actions share one. */
  readonly #shared = new Map<string, NonNullable<PlannedTask["plan"]>>();
  readonly #readsSigned = new WeakMap<NonNullable<PlannedTask["plan"]>, boolean>();

  /** Plans with the resources of `catalog`. */
  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** The plan for a task that this trigger makes now. */
  plan(trigger: Resource<TriggerSpec>): PlannedTask {
    if (this.#version !== this.#catalog.version) {
      this.#plans = new WeakMap();
      this.#shared.clear();
      this.#version = this.#catalog.version;
    }
    const known = this.#plans.get(trigger);
    if (known !== undefined) return known;
    const { project, spec } = trigger;
    const task = this.#share(this.planFor(project, spec.action, spec.event));
    this.#plans.set(trigger, task);
    return task;
  }

  #share(task: PlannedTask): PlannedTask {
    if (task.plan === undefined) return task;
    const known = this.#shared.get(task.plan.hash);
    if (known !== undefined) return { ...task, plan: known };
    this.#shared.set(task.plan.hash, task.plan);
    return task;
  }

  /**
   * Whether the tasks of this trigger, or those that their steps start, may read the variable `signed`, or
   * ask for four eyes, for which it has to be known who sent the event. It may say so without need, but
   * never misses a task that does.
   */
  readsSigned(trigger: Resource<TriggerSpec>): boolean {
    const { plan } = this.plan(trigger);
    if (plan === undefined) return false;
    const known = this.#readsSigned.get(plan);
    if (known !== undefined) return known;
    const reads = /\b(?:signed|fourEyes)\b|"workflow":/.test(plan.json);
    this.#readsSigned.set(plan, reads);
    return reads;
  }

  /**
   * The plan for a task that this action makes now; `event` is absent where its trigger is gone. A trigger
   * without an action makes no task.
   */
  planFor(
    project: string,
    action: TriggerSpec["action"],
    event?: PlannedSource | TriggerSpec["event"],
  ): PlannedTask {
    if (action === undefined) {
      return { workflow: "", workspace: "", missing: "its trigger has no action" };
    }
    const names = { workflow: action.workflow, workspace: action.workspace };
    const missing = new Set<string>();
    const find = <Spec>(kind: string, name: string): Spec | undefined => {
      const resource = this.#catalog.find<Spec>(kind, project, name);
      if (resource === undefined) missing.add(`${kind} "${name}"`);
      return resource?.spec;
    };
    const workflow = find<WorkflowSpec>("Workflow", names.workflow);
    const workspace = find<WorkspaceSpec>("Workspace", names.workspace);
    const around: Around = {
      ...defined({ shell: workflow?.shell }),
      ...defined({ sandbox: workflow?.sandbox ?? workspace?.sandbox }),
      mayBeHeld: event?.cron === undefined && hasAgent(workflow),
    };
    const steps = flatSteps(workflow?.steps ?? [], [])
      .map(({ step }) => planStep(step, around, find));
    const last = workflow?.finally?.flatMap((step) => {
      const before = missing.size;
      const planned = planStep(step, around, find);
      return missing.size === before ? [planned] : [];
    });
    const lacks = missing.size === 0
      ? {}
      : { missing: `missing in project "${project}": ${[...missing].join(", ")}` };
    const canRun = missing.size === 0 || (last ?? []).length > 0;
    if (workflow === undefined || !canRun) return { ...names, ...lacks };
    const from = guardOf(event?.webhook ?? {}, [...steps, ...last ?? []]);
    const plan: Plan = {
      ...lacks,
      steps,
      ...defined({ finally: last }),
      env: workflow.env ?? {},
      ...defined({ may: workflow.may, timeout: workflow.timeout, goal: action.goal, from }),
      ...defined({ outputs: workflow.outputs }),
      ...steps.some((step) => step.workflow !== undefined) ? { source: sourceOf(event) } : {},
      workspace: {
        path: workspace?.path ?? "",
        isolation: isolationOf(workspace),
        ...(workspace?.fetch === true ? { fetch: true } : {}),
        ...defined({ nodes: workspace?.nodes }),
        env: workspace?.env ?? {},
      },
    };
    const json = JSON.stringify(plan);
    return {
      ...names,
      ...lacks,
      plan: { hash: sha256Hex(json), json },
      ...defined({ workspaceMax: workspace?.maxParallel }),
    };
  }
}

function sourceOf(event: PlannedSource | TriggerSpec["event"] | undefined): PlannedSource {
  const { from, connection } = event?.webhook ?? {};
  return {
    ...from === undefined ? {} : { webhook: { from, ...defined({ connection }) } },
    ...event?.cron === undefined ? {} : { cron: true },
  };
}

/** The guard of a webhook; `undefined` if it has none, or if it does not apply to these steps. */
function guardOf(
  { from, connection }: Pick<WebhookSpec, "from" | "connection">,
  steps: readonly PlannedStep[],
): PlannedGuard | undefined {
  if (from === undefined) return undefined;
  if (from.only === "agents" && steps.every(({ agent }) => agent === undefined)) return undefined;
  const { permission } = from;
  return { permission, ...defined({ connection }) };
}

/** The parts of a workflow and its workspace that count for each of its steps. */
interface Around {
  readonly shell?: Shell;
  readonly sandbox?: SandboxField;
  /** Whether a step without a sandbox gets {@linkcode DEFAULT_SANDBOX}. */
  readonly mayBeHeld: boolean;
}

/** Finds a resource by kind and name; notes one that is missing. */
type Find = <Spec>(kind: string, name: string) => Spec | undefined;

/** Whether a step of a workflow runs an agent. */
function hasAgent(workflow: WorkflowSpec | undefined): boolean {
  return workflow !== undefined && allSteps(workflow).some(({ agent }) => agent !== undefined);
}

/**
 * Whether a step of a stored plan runs an agent, and so may have a turn of it. Looked for in its JSON,
 * which costs a task without agents nothing; a text like that in a step makes no difference.
 */
export function mayHaveTurns(plan: string): boolean {
  return plan.includes('"agent":');
}

/** Whether a step of a stored plan waits for something other than an agent; see {@linkcode mayHaveTurns}. */
export function mayHaveWaits(plan: string): boolean {
  return plan.includes('"waitFor":') || plan.includes('"approval":') || mayHaveChildren(plan);
}

/** Whether a step of a stored plan starts another workflow; see {@linkcode mayHaveTurns}. */
export function mayHaveChildren(plan: string): boolean {
  return plan.includes('"workflow":');
}

/** Copies agent, prompt, shell and sandbox into a step. */
function planStep(
  { agent: agentField, template: templateName, sandbox: own, ...step }: FlatStep,
  { shell, sandbox: around, mayBeHeld }: Around,
  find: Find,
): PlannedStep {
  const isHeld = mayBeHeld || step.session !== undefined;
  const planSandbox = (nearest: SandboxField | undefined) =>
    defined({ sandbox: sandboxOf(nearest, find) ?? (isHeld ? DEFAULT_SANDBOX : undefined) });
  const planAgent = (name: string) => {
    const agent = find<AgentSpec>("Agent", name);
    return { ...planSandbox(own ?? agent?.sandbox ?? around), agent: plannedAgent(name, agent) };
  };
  const [first, ...others] = agentNames({ ...defined({ agent: agentField }) });
  if (!runsProgram(step)) return step;
  if (first === undefined) {
    return { ...defined({ shell }), ...step, ...planSandbox(own ?? around) };
  }
  const template = templateName === undefined
    ? undefined
    : find<StepTemplateSpec>("StepTemplate", templateName);
  return {
    ...step,
    ...planAgent(first),
    ...others.length === 0 ? {} : { fallbacks: others.map(planAgent) },
    prompt: step.prompt ?? template?.prompt ?? "",
  };
}

/** An agent as a plan has it. */
export function plannedAgent(name: string, spec: AgentSpec | undefined): PlannedAgent {
  return {
    name,
    command: spec?.command ?? "",
    promptDelivery: spec?.promptDelivery ?? DEFAULT_DELIVERY,
    env: spec?.env ?? {},
    ...defined({
      output: spec && adapterOf(spec),
      timeout: spec?.timeout,
      resume: spec?.resume,
      seats: spec?.maxParallel,
    }),
  };
}

/** The agents that may do a step, the preferred one first; empty for a shell line. */
export function agentsOf({ agent, fallbacks = [] }: PlannedStep): readonly PlannedAgent[] {
  return [agent, ...fallbacks.map((one) => one.agent)].filter((one) => one !== undefined);
}

/** The step as this agent of it does it, in the sandbox that this one has. */
export function withAgent(step: PlannedStep, name: string): PlannedStep {
  const { agent: _agent, sandbox: _sandbox, fallbacks = [], ...rest } = step;
  const chosen = [step, ...fallbacks].find(({ agent }) => agent?.name === name);
  if (chosen === undefined) throw new Error(`Step "${step.id}" has no agent "${name}"`);
  const { agent, sandbox } = chosen;
  return { ...rest, ...defined({ agent, sandbox }) };
}

/** What a field `sandbox` stands for; `undefined` where there is no such field. */
export function sandboxOf(field: SandboxField | undefined, find: Find): PlannedStep["sandbox"] {
  if (field === undefined || field === NO_SANDBOX) return field;
  if (typeof field === "object") return { spec: field };
  return { name: field, spec: find<SandboxSpec>("Sandbox", field) ?? {} };
}
