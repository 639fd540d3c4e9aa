/**
 * What a pending task waits for: its time, then room in its group, then room in its workspace. It
 * takes room in whatever it has passed until it ends, so each task that ends promotes the next one.
 *
 * @module
 */

import type { TaskLimits } from "./limits.ts";
import type { Found, Needs } from "./needs.ts";

/** What a pending task waits for; `none` is ready for a worker. */
export type WaitReason = "time" | "group" | "workspace" | "none";

/** How full the group and the workspace of a task are, the task itself left out. */
export interface RoomFacts {
  /** Whether a task waits for room in the group. */
  readonly groupQueued: boolean;
  /** Tasks that have room in the group; need not be counted beyond its limit. */
  readonly groupOpen: number;
  /** Whether a task that has a limit there waits for room in the workspace. */
  readonly workspaceQueued: boolean;
  /** Tasks with a limit that have room in the workspace; need not be counted beyond its limit. */
  readonly workspaceOpen: number;
}

/**
 * Where a task has to wait whose time has come: a new one, a retry, one whose limits changed, and
 * with its workspace alone one that has just been promoted from its group. Tasks that wait already
 * go first.
 */
export function decideWait(
  { group, workspace }: { readonly group?: TaskLimits["group"] } & Pick<TaskLimits, "workspace">,
  known: Partial<RoomFacts>,
): { readonly waitsFor: WaitReason } | Needs<RoomFacts> {
  if (group !== undefined) {
    if (known.groupQueued === undefined) return { needs: "groupQueued" };
    if (known.groupQueued) return { waitsFor: "group" };
    if (known.groupOpen === undefined) return { needs: "groupOpen" };
    if (known.groupOpen >= group.max) return { waitsFor: "group" };
  }
  if (workspace.max === undefined) return { waitsFor: "none" };
  if (known.workspaceQueued === undefined) return { needs: "workspaceQueued" };
  if (known.workspaceQueued) return { waitsFor: "workspace" };
  if (known.workspaceOpen === undefined) return { needs: "workspaceOpen" };
  return { waitsFor: known.workspaceOpen >= workspace.max ? "workspace" : "none" };
}

/**
 * Whether a task that begins to wait may change which one is next: it brings the newest limit
 * along.
 */
export function bringsNewLimit(waitsFor: WaitReason): boolean {
  return waitsFor === "group" || waitsFor === "workspace";
}

/** Those that wait for room in one group or one workspace. */
export interface Queue<Task> {
  /** The one with the lowest id. */
  readonly oldest: Task;
  /** The limit as the one with the highest id was given it. */
  readonly newestMax: number;
}

/** One group or one workspace in which room may have become free. */
export interface PromotionFacts<Task> {
  /** The tasks that wait. */
  readonly queue: Found<Queue<Task>>;
  /** Tasks that have room; need not be counted beyond the limit. */
  readonly open: number;
}

/**
 * Which task gets room next, if any: the one that has waited longest, as long as there is room by
 * the newest settings. To be asked again until it is none.
 */
export function decidePromotion<Task>(
  { queue, open }: Partial<PromotionFacts<Task>>,
): { readonly next: Found<Task> } | Needs<PromotionFacts<Task>> {
  if (queue === undefined) return { needs: "queue" };
  if (queue === "none") return { next: "none" };
  if (open === undefined) return { needs: "open" };
  return { next: open < queue.newestMax ? queue.oldest : "none" };
}

/** Milliseconds by which the clock has to have been set back before waiting tasks care. */
const CLOCK_STEP_MS = 60_000;

/** Which tasks that wait for their time are let in; either is enough. */
export interface Due {
  /** Those whose time is not after this. */
  readonly runAtUpTo: number;
  /** Those that were stored after this, in a future that a clock which was set back undid. */
  readonly createdAfter: number;
}

/** What is due at `now`; both in milliseconds since the epoch. */
export function whatIsDue(now: number): Due {
  return { runAtUpTo: now, createdAfter: now + CLOCK_STEP_MS };
}
