/**
 * `task retry`: stores a new task that repeats an ended one. It takes over the plan, the event, the
 * finished steps and, where it still exists, the directory of the old task.
 *
 * @module
 */

import type { Input, Output } from "../../api/operations.ts";
import { askedBy, type Caller } from "../../auth/caller.ts";
import { sha256Hex } from "../../base/bytes.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { plannedSteps } from "../../resources/step_list.ts";
import type { TriggerSpec } from "../../resources/trigger.ts";
import { isShared, type WorkspaceSpec } from "../../resources/workspace.ts";
import type { NodeStore } from "../../store/node_store.ts";
import { staysBehind } from "../../store/rules/placement.ts";
import { byCurrentResources } from "../../store/stale_resources.ts";
import type { RetryOf, StepRecord, Task } from "../../store/task_records.ts";
import { isOver } from "../../tasks/run/flow.ts";
import { keptSteps, withMessages } from "../../tasks/run/kept_steps.ts";
import type { Plan } from "../../tasks/plan.ts";
import { isDirectory } from "../../tasks/workspace/directory_fault.ts";
import { findTask } from "../records/records.ts";
import type { TasksHost } from "./task_actions.ts";
import { findTaskHome } from "./task_home.ts";

/** The parts of a retry that depend on how the old task ended. */
interface RetryPlan extends Pick<RetryOf, "planned" | "kept" | "keepDirectory" | "staysOnNode"> {
  /** A note for the operator; empty when there is none. */
  readonly note: string;
}

/**
 * Stores a task that repeats another one, for a caller.
 *
 * @throws {AppError} `conflict` when the task has not ended or something it needs is still missing;
 * `usage` when it has no step `from`.
 */
export function retryTask(
  input: Input<"task.retry">,
  caller: Caller,
  host: TasksHost,
): Promise<Output<"task.retry">> {
  return byCurrentResources(
    host.resources,
    (resourceVersion) => storeRetry(input, { by: askedBy(caller), resourceVersion }, host),
  );
}

async function storeRetry(
  { id, from }: Input<"task.retry">,
  { by, resourceVersion }: Required<Pick<RetryOf, "by" | "resourceVersion">>,
  host: TasksHost,
): Promise<Output<"task.retry">> {
  const task = await findTask(id, host.store);
  if (task.finishedAt === undefined) {
    throw new AppError(
      "conflict",
      `Task ${task.id} is ${task.state}: wait for its end, or cancel it with "svc task cancel"`,
    );
  }
  const json = await host.store.findPlan(task.id);
  const plan = json === undefined ? undefined : JSON.parse(json) as Plan;
  const { note, ...again } = plan === undefined || json === undefined || plan.missing !== undefined
    ? await newPlan(task, from, host)
    : {
      ...await continuePlan(task, plan, { from, store: host.store }),
      ...task.rootId === "" ? {} : inOwnRoom(task, json, host),
    };
  const made = await host.store.retryTask({
    ...again,
    kept: withMessages(task.steps, again.kept),
    id: host.newId(),
    of: task.id,
    by,
    resourceVersion,
    now: host.clock.now(),
  });
  return {
    id: made.id,
    retry_of: task.id,
    kept: again.kept.filter(isOver).map(({ id }) => id),
    note,
  };
}

/**
 * Plans the task now: something it needs was missing when the event came, and may have been applied
 * since.
 */
async function newPlan(
  task: Task,
  from: string | undefined,
  host: TasksHost,
): Promise<RetryPlan> {
  const { action, event } = task.rootId === ""
    ? actionOf(task, host)
    : await actionAbove(task, host);
  const { plan, missing, ...names } = host.planner.planFor(task.project, action, event);
  if (plan === undefined || missing !== undefined) {
    throw new AppError("conflict", `Task ${task.id} cannot run yet, ${missing}: apply it first`);
  }
  checkFrom(from, JSON.parse(plan.json) as Plan, task);
  return { planned: { ...names, plan }, ...anywhere([]) };
}

type Action = Parameters<TasksHost["planner"]["planFor"]>;

/** What the trigger of a task runs; what the task was to run, if that is gone. */
function actionOf(
  { project, trigger: name, workflow, workspace }: Task,
  { catalog }: TasksHost,
): { readonly action: Action[1]; readonly event?: Action[2] } {
  const trigger = catalog.find<TriggerSpec>("Trigger", project, name);
  const action = trigger?.spec.action ?? { workflow, workspace };
  return { action, ...defined({ event: trigger?.spec.event }) };
}

/**
 * What a child runs. The trigger names the workflow of the task at the top; the task above has the guard
 * and the goal of its trigger.
 *
 * @throws {AppError} `conflict` if the task above is gone.
 */
async function actionAbove(
  { id, parentId, workflow, workspace }: Task,
  { store }: TasksHost,
): Promise<{ readonly action: Action[1]; readonly event: Action[2] }> {
  const json = await store.findPlan(parentId);
  const { source, goal }: Partial<Plan> = json === undefined ? {} : JSON.parse(json);
  if (source === undefined) {
    throw new AppError(
      "conflict",
      `Task ${id} could never run, and task ${parentId}, which has started it, is gone: start anew`,
    );
  }
  return { action: { workflow, workspace, ...defined({ goal }) }, event: source };
}

/**
 * The plan of a child with the limit that its workspace has now: a child may have run in the room of the
 * task above, which its retry does not have.
 */
function inOwnRoom(
  { project, workflow, workspace }: Task,
  json: string,
  { catalog }: TasksHost,
): Pick<RetryPlan, "planned"> {
  const found = catalog.find<WorkspaceSpec>("Workspace", project, workspace);
  const workspaceMax = found?.spec.maxParallel;
  const plan = { hash: sha256Hex(json), json };
  return { planned: { workflow, workspace, plan, ...defined({ workspaceMax }) } };
}

async function continuePlan(
  task: Task,
  plan: Plan,
  { from, store }: { readonly from: string | undefined; readonly store: NodeStore },
): Promise<RetryPlan> {
  checkFrom(from, plan, task);
  if (task.state === "succeeded" && from === undefined) {
    return anywhere([], `Task ${task.id} succeeded, so all of its steps run again`);
  }
  const kept = keptSteps({ plan, records: task.steps }, from);
  if (kept.length === 0 || !staysBehind(plan.workspace)) return anywhere(kept);
  const home = await findTaskHome(task, store);
  const keepDirectory = !isShared(plan.workspace);
  const isThere = home.is === "here"
    ? !keepDirectory || await isDirectory(task.directory)
    : home.is === "elsewhere" && (!keepDirectory || task.directory !== "");
  if (!isThere) return withoutDirectory(task, kept, from);
  const note = home.is === "elsewhere"
    ? `It runs on node "${home.node}", which has the files of its finished steps`
    : "";
  return { kept, keepDirectory, staysOnNode: true, note };
}

/** A retry on any node that its workspace allows. */
function anywhere(kept: readonly StepRecord[], note = ""): RetryPlan {
  return { kept, keepDirectory: false, staysOnNode: false, note };
}

/**
 * A retry without the old directory, in which the finished steps left their results: they have to
 * run again.
 */
function withoutDirectory(
  task: Task,
  kept: readonly StepRecord[],
  from: string | undefined,
): RetryPlan {
  const gone = `The directory in which task ${task.id} ran is gone`;
  if (from === undefined) return anywhere([], `${gone}, all of its steps run again`);
  const ids = kept.filter(isOver).map(({ id }) => id).join(", ");
  throw new AppError(
    "conflict",
    `${gone}, with the files of ${ids}: leave out --from to run all of its steps again`,
  );
}

function checkFrom(from: string | undefined, plan: Plan, task: Task): void {
  const ids = plannedSteps(plan).map(({ id }) => id);
  if (from === undefined || ids.includes(from)) return;
  throw new AppError(
    "usage",
    `Task ${task.id} has no step "${from}": its steps are ${ids.join(", ")}`,
  );
}
