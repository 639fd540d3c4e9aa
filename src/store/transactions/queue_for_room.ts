/**
 * Whether a due task is ready or queued, and which task is next where room has become free. Decided
 * by `rules/readiness.ts`.
 *
 * @module
 */

import type { TaskLimits } from "../rules/limits.ts";
import type { Found } from "../rules/needs.ts";
import { settle } from "../rules/settle.ts";
import {
  type CapacityFacts,
  type DecidedReadiness,
  decidePromotion,
  decideReadiness,
  type PromotionFacts,
  type Queue,
} from "../rules/readiness.ts";
import type { LimitKey, TaskRows, UnreadyTask } from "./task_rows.ts";

/** Whether a due task is ready or queued, given how full its limits are now. */
export function findReadiness(rows: TaskRows, limits: TaskLimits): DecidedReadiness {
  const { group, workspace } = limits;
  return settle<CapacityFacts, DecidedReadiness>((known) => decideReadiness(limits, known), {
    groupQueue: () => group === undefined ? "none" : rows.findNewestMax(ofGroup(group)),
    groupOpen: () => group === undefined ? 0 : rows.countOpen(ofGroup(group), group.max),
    workspaceQueue: () => rows.findNewestMax(ofWorkspace(workspace)),
    workspaceOpen: () => rows.countOpen(ofWorkspace(workspace), workspace.max ?? 0),
  });
}

const ofGroup = ({ digest }: NonNullable<TaskLimits["group"]>): LimitKey => ({
  of: "group",
  digest,
});

const ofWorkspace = ({ project, name }: TaskLimits["workspace"]): LimitKey => ({
  of: "workspace",
  project,
  name,
});

/**
 * Stores whether a due task is ready or queued, and promotes others where it brings a new limit.
 */
export function queueOrMakeReady(rows: TaskRows, taskId: string, limits: TaskLimits): void {
  const { readiness, bringsNewLimit } = findReadiness(rows, limits);
  rows.setReadiness(taskId, readiness);
  if (bringsNewLimit) promoteQueued(rows, limits);
}

/**
 * Promotes the tasks that have room now; to be called when a task in these limits has ended or
 * given its room back.
 */
export function promoteQueued(rows: TaskRows, { group, workspace }: TaskLimits): void {
  if (group !== undefined) promoteInGroup(rows, ofGroup(group));
  if (workspace.max !== undefined) promoteInWorkspace(rows, ofWorkspace(workspace));
}

function promoteInGroup(rows: TaskRows, group: LimitKey): void {
  for (;;) {
    const next = findNext(rows, group);
    if (next === "none") return;
    // the task has passed its group
    queueOrMakeReady(rows, next.id, { workspace: next.limits.workspace });
  }
}

function promoteInWorkspace(rows: TaskRows, workspace: LimitKey): void {
  for (;;) {
    const next = findNext(rows, workspace);
    if (next === "none") return;
    rows.setReadiness(next.id, "ready");
  }
}

function findNext(rows: TaskRows, limit: LimitKey): Found<UnreadyTask> {
  return settle<PromotionFacts<UnreadyTask>, { next: Found<UnreadyTask> }>(decidePromotion, {
    queue: () => findQueue(rows, limit),
    open: ({ queue = "none" }) => rows.countOpen(limit, queue === "none" ? 0 : queue.newestMax),
  }).next;
}

function findQueue(rows: TaskRows, limit: LimitKey): Found<Queue<UnreadyTask>> {
  const newestMax = rows.findNewestMax(limit);
  if (newestMax === "none") return "none";
  const oldest = rows.findOldestQueued(limit);
  return oldest === "none" ? "none" : { oldest, newestMax };
}
