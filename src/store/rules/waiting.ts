/**
 * What a pending task waits for: its time, then room in its group, then room in its workspace. A
 * task occupies room in each limit it has passed until it ends, so each task that ends promotes the
 * next one.
 *
 * @module
 */

import type { TaskLimits } from "./limits.ts";
import type { Found, Needs } from "./needs.ts";

/** What a pending task waits for; with `none` it is ready for a worker. */
export type WaitReason = "time" | "group" | "workspace" | "none";

/** How full the group and the workspace of a task are, without the task itself. */
export interface RoomFacts {
  /** The limit of the newest task that waits for room in the group. */
  readonly groupQueue: Found<number>;
  /** Tasks that occupy room in the group; need not be counted beyond its limit. */
  readonly groupOpen: number;
  /** The limit of the newest task that waits for room in the workspace. */
  readonly workspaceQueue: Found<number>;
  /** Tasks with a limit that occupy room in the workspace; need not be counted beyond its limit. */
  readonly workspaceOpen: number;
}

/** What a task waits for, and whether that changes which task is next. */
export interface Wait {
  readonly waitsFor: WaitReason;
  /**
   * Whether others may have room now: the task begins to wait with another limit than the newest
   * task before it, and the newest limit holds for all.
   */
  readonly bringsNewLimit: boolean;
}

/**
 * What a task waits for once its time has come. It is asked for a new task, a retry, a task whose
 * limits changed, and, with only its workspace, for a task that was just promoted in its group.
 * Tasks that wait already go first.
 */
export function decideWait(
  { group, workspace }: { readonly group?: TaskLimits["group"] } & Pick<TaskLimits, "workspace">,
  known: Partial<RoomFacts>,
): Wait | Needs<RoomFacts> {
  if (group !== undefined) {
    if (known.groupQueue === undefined) return { needs: "groupQueue" };
    if (known.groupQueue !== "none") return behind("group", known.groupQueue, group.max);
    if (known.groupOpen === undefined) return { needs: "groupOpen" };
    if (known.groupOpen >= group.max) return { waitsFor: "group", bringsNewLimit: false };
  }
  if (workspace.max === undefined) return READY;
  if (known.workspaceQueue === undefined) return { needs: "workspaceQueue" };
  if (known.workspaceQueue !== "none") {
    return behind("workspace", known.workspaceQueue, workspace.max);
  }
  if (known.workspaceOpen === undefined) return { needs: "workspaceOpen" };
  if (known.workspaceOpen < workspace.max) return READY;
  return { waitsFor: "workspace", bringsNewLimit: false };
}

const READY: Wait = { waitsFor: "none", bringsNewLimit: false };

function behind(waitsFor: WaitReason, newestMax: number, max: number): Wait {
  return { waitsFor, bringsNewLimit: newestMax !== max };
}

/** The tasks that wait for room in one group or one workspace. */
export interface Queue<Task> {
  /** The task with the lowest id. */
  readonly oldest: Task;
  /** The limit as the task with the highest id was given it. */
  readonly newestMax: number;
}

/** One group or one workspace in which room may have become free. */
export interface PromotionFacts<Task> {
  /** The waiting tasks. */
  readonly queue: Found<Queue<Task>>;
  /** Tasks that occupy room; need not be counted beyond the limit. */
  readonly open: number;
}

/**
 * The task to promote next: the one that has waited longest, while there is room by the newest
 * limit. The caller repeats this until the decision is none.
 */
export function decidePromotion<Task>(
  { queue, open }: Partial<PromotionFacts<Task>>,
): { readonly next: Found<Task> } | Needs<PromotionFacts<Task>> {
  if (queue === undefined) return { needs: "queue" };
  if (queue === "none") return { next: "none" };
  if (open === undefined) return { needs: "open" };
  return { next: open < queue.newestMax ? queue.oldest : "none" };
}

/** Milliseconds by which the clock has to be set back before it affects waiting tasks. */
const CLOCK_STEP_MS = 60_000;

/** Which tasks that wait for their time are due; either bound is enough. */
export interface Due {
  /** Due up to this time. */
  readonly runAtUpTo: number;
  /** Stored after this time: in a future that no longer is one, because the clock was set back. */
  readonly createdAfter: number;
}

/** The bounds of what is due at `now`; all in milliseconds since the epoch. */
export function whatIsDue(now: number): Due {
  return { runAtUpTo: now, createdAfter: now + CLOCK_STEP_MS };
}
