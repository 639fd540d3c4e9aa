/**
 * When a pending task is ready: it is delayed until its time, then queued for room in its group,
 * then for room in its workspace. A ready task may still lack room in its project, which a claim
 * gives (`project_rooms.ts`). A task occupies room in each limit it has passed until it ends, so
 * each task that ends promotes the next one. One that waits in its midst (`parking.ts`) may have given
 * the room in its workspace back, and is queued for it again when it goes on.
 *
 * @module
 */

import type { TaskLimits } from "./limits.ts";
import type { Found, Needs } from "./needs.ts";

/**
 * Whether a pending task is `ready` for a worker, queued for room, or delayed until its time. Of a
 * waiting task it says what it keeps: all its room (`ready`), or that in its group alone
 * (`queuedInWorkspace`).
 */
export type Readiness = "delayed" | "queuedInGroup" | "queuedInWorkspace" | "ready";

/** How full the group and the workspace of a task are, without the task itself. */
export interface CapacityFacts {
  /** The limit of the newest task that is queued for room in the group. */
  readonly groupQueue: Found<number>;
  /** Tasks that occupy room in the group; need not be counted beyond its limit. */
  readonly groupOpen: number;
  /** The limit of the newest task that is queued for room in the workspace. */
  readonly workspaceQueue: Found<number>;
  /** Tasks with a limit that occupy room in the workspace; need not be counted beyond its limit. */
  readonly workspaceOpen: number;
}

/** Whether a task is ready, and whether that changes which task is next. */
export interface DecidedReadiness {
  readonly readiness: Readiness;
  /**
   * Whether others may have room now: the task is queued with another limit than the newest task
   * before it, and the newest limit holds for all.
   */
  readonly bringsNewLimit: boolean;
}

/**
 * Whether a task is ready or queued once its time has come. It is asked for a new task, a retry, a task whose
 * limits changed, and, with only its workspace, for a task that was just promoted in its group.
 * Tasks that are queued already go first.
 */
export function decideReadiness(
  { group, workspace }: { readonly group?: TaskLimits["group"] } & Pick<TaskLimits, "workspace">,
  known: Partial<CapacityFacts>,
): DecidedReadiness | Needs<CapacityFacts> {
  if (group !== undefined) {
    if (known.groupQueue === undefined) return { needs: "groupQueue" };
    if (known.groupQueue !== "none") return behind("queuedInGroup", known.groupQueue, group.max);
    if (known.groupOpen === undefined) return { needs: "groupOpen" };
    if (known.groupOpen >= group.max) return { readiness: "queuedInGroup", bringsNewLimit: false };
  }
  if (workspace.max === undefined) return READY;
  if (known.workspaceQueue === undefined) return { needs: "workspaceQueue" };
  if (known.workspaceQueue !== "none") {
    return behind("queuedInWorkspace", known.workspaceQueue, workspace.max);
  }
  if (known.workspaceOpen === undefined) return { needs: "workspaceOpen" };
  if (known.workspaceOpen < workspace.max) return READY;
  return { readiness: "queuedInWorkspace", bringsNewLimit: false };
}

const READY: DecidedReadiness = { readiness: "ready", bringsNewLimit: false };

function behind(readiness: Readiness, newestMax: number, max: number): DecidedReadiness {
  return { readiness, bringsNewLimit: newestMax !== max };
}

/** The tasks that are queued for room in one group or one workspace. */
export interface Queue<Task> {
  /** The task with the lowest id. */
  readonly oldest: Task;
  /** The limit as the task with the highest id was given it. */
  readonly newestMax: number;
}

/** One group or one workspace in which room may have become free. */
export interface PromotionFacts<Task> {
  /** The queued tasks. */
  readonly queue: Found<Queue<Task>>;
  /** Tasks that occupy room; need not be counted beyond the limit. */
  readonly open: number;
}

/**
 * The task to promote next: the one that was queued first, while there is room by the newest
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

/** Milliseconds by which the clock has to be set back before it affects tasks that wait for a time. */
const CLOCK_STEP_MS = 60_000;

/** Which delayed and waiting tasks are due; either bound is enough. */
export interface Due {
  /** Due up to this time. */
  readonly runAtUpTo: number;
  /** Stored or parked after this time: in a future that no longer is one, because the clock was set back. */
  readonly createdAfter: number;
}

/** The bounds of what is due at `now`; all in milliseconds since the epoch. */
export function whatIsDue(now: number): Due {
  return { runAtUpTo: now, createdAfter: now + CLOCK_STEP_MS };
}
