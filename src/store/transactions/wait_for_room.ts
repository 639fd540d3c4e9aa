/**
 * What a due task waits for, and who is next where room has become free. Decided by
 * `rules/waiting.ts`.
 *
 * @module
 */

import type { TaskLimits } from "../rules/limits.ts";
import type { Found } from "../rules/needs.ts";
import { settle } from "../rules/settle.ts";
import {
  decidePromotion,
  decideWait,
  type PromotionFacts,
  type Queue,
  type RoomFacts,
  type Wait,
} from "../rules/waiting.ts";
import type { Room, TaskRows, WaitingTask } from "./task_rows.ts";

/** What a due task waits for, given how full its limits are now. */
export function findWait(rows: TaskRows, limits: TaskLimits): Wait {
  const { group, workspace } = limits;
  return settle<RoomFacts, Wait>((known) => decideWait(limits, known), {
    groupQueue: () => group === undefined ? "none" : rows.findNewestMax(ofGroup(group)),
    groupOpen: () => group === undefined ? 0 : rows.countOpen(ofGroup(group), group.max),
    workspaceQueue: () => rows.findNewestMax(ofWorkspace(workspace)),
    workspaceOpen: () => rows.countOpen(ofWorkspace(workspace), workspace.max ?? 0),
  });
}

const ofGroup = ({ digest }: NonNullable<TaskLimits["group"]>): Room => ({ of: "group", digest });

const ofWorkspace = ({ project, name }: TaskLimits["workspace"]): Room => ({
  of: "workspace",
  project,
  name,
});

/** Stores what a due task waits for, and promotes others where it brings a new limit. */
export function waitForRoom(rows: TaskRows, taskId: string, limits: TaskLimits): void {
  const { waitsFor, bringsNewLimit } = findWait(rows, limits);
  rows.setWait(taskId, waitsFor);
  if (bringsNewLimit) promoteWaiting(rows, limits);
}

/** Makes tasks whose time has come wait for room. */
export function releaseDue(rows: TaskRows, due: readonly WaitingTask[]): void {
  for (const { id, limits } of due) waitForRoom(rows, id, limits);
}

/**
 * Promotes the tasks that have room now; to be called when a task in these limits has ended or
 * given its room back.
 */
export function promoteWaiting(rows: TaskRows, { group, workspace }: TaskLimits): void {
  if (group !== undefined) promoteInGroup(rows, ofGroup(group));
  if (workspace.max !== undefined) promoteInWorkspace(rows, ofWorkspace(workspace));
}

function promoteInGroup(rows: TaskRows, group: Room): void {
  for (;;) {
    const next = findNext(rows, group);
    if (next === "none") return;
    // the task has passed its group
    waitForRoom(rows, next.id, { workspace: next.limits.workspace });
  }
}

function promoteInWorkspace(rows: TaskRows, workspace: Room): void {
  for (;;) {
    const next = findNext(rows, workspace);
    if (next === "none") return;
    rows.setWait(next.id, "none");
  }
}

function findNext(rows: TaskRows, room: Room): Found<WaitingTask> {
  return settle<PromotionFacts<WaitingTask>, { next: Found<WaitingTask> }>(decidePromotion, {
    queue: () => findQueue(rows, room),
    open: ({ queue = "none" }) => rows.countOpen(room, queue === "none" ? 0 : queue.newestMax),
  }).next;
}

function findQueue(rows: TaskRows, room: Room): Found<Queue<WaitingTask>> {
  const newestMax = rows.findNewestMax(room);
  if (newestMax === "none") return "none";
  const oldest = rows.findOldestWaiting(room);
  return oldest === "none" ? "none" : { oldest, newestMax };
}
