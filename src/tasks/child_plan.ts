/**
 * The tasks that a step with `workflow` starts: what each of them runs, and where.
 *
 * @module
 */

import { sha256Hex } from "../base/bytes.ts";
import { defined } from "../base/defined.ts";
import { eventId } from "../base/ids.ts";
import type { Catalog } from "../resources/catalog.ts";
import { isShared, type WorkspaceSpec } from "../resources/workspace.ts";
import type { AskedChildren, ChildInputs } from "../store/child_records.ts";
import type { Task } from "../store/task_records.ts";
import { type Plan, type PlannedStep, type PlannedTask, Planner } from "./plan.ts";

/** A step that starts other tasks, and its task. */
export interface StartingStep {
  readonly task: Pick<Task, "id" | "project" | "trigger" | "workspace">;
  readonly plan: Plan;
  readonly step: PlannedStep & { readonly workflow: string };
  readonly position: number;
  /** Number of the round of its `repeat`, from 1. */
  readonly round: number;
}

/**
 * The children of a step with these inputs: tasks of the same trigger, with the event and the goal of the
 * task above. They run what is applied now, as far as this daemon knows: who stores them makes them anew
 * if another daemon has changed that.
 */
export function childrenOf(
  { task, plan, step, position, round }: StartingStep,
  given: readonly ChildInputs[],
  { catalog, now }: { readonly catalog: Catalog; readonly now: number },
): Omit<AskedChildren, "wait" | "isFollowUp"> {
  const { id: parentId, project, trigger } = task;
  const resourceVersion = catalog.storedVersion;
  const workspace = step.workspace ?? task.workspace;
  const sharedAbove = [
    ...plan.sharedAbove ?? [],
    ...isShared(plan.workspace) ? [task.workspace] : [],
  ];
  const action = { workflow: step.workflow, workspace, ...defined({ goal: plan.goal }) };
  const planned = new Planner(catalog).planFor(project, action, plan.source);
  const found = catalog.find<WorkspaceSpec>("Workspace", project, workspace);
  const parsed = planned.plan === undefined ? undefined : JSON.parse(planned.plan.json) as Plan;
  const plans = defined({ plan: parsed && stored({ ...parsed, sharedAbove }) });
  const children = given.map(({ item, inputs }) => ({
    item,
    inputs,
    task: {
      ...planned,
      ...plans,
      id: eventId(now, JSON.stringify(["child", parentId, position, round, item])),
      project,
      trigger,
      followed: true,
    },
  }));
  return { children, isShared: isShared(found?.spec), sharedAbove, resourceVersion };
}

function stored(plan: Plan): NonNullable<PlannedTask["plan"]> {
  const json = JSON.stringify(plan);
  return { hash: sha256Hex(json), json };
}
