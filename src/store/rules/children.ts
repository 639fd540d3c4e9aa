/**
 * Child tasks of a step: which are made next, whether the step is over, and in whose room they run.
 *
 * @module
 */

import type { Child, ChildCount } from "../child_records.ts";
import { isUnfinished } from "../task_records.ts";

/** Most levels of tasks below the one at the top. */
export const MAX_LEVELS = 16;
/** Most tasks below the one at the top. */
export const MAX_BELOW = 1000;
/** More than a task has children: what a list of all of them is asked for. */
export const ALL_CHILDREN = 2 * MAX_BELOW;

/** Most characters of the outputs of all items of a step together, as JSON. */
export const MAX_RESULTS = 1024 * 1024;

/** What becomes of a step that waits for children. */
export type ChildrenDecision =
  /** All of them have ended, or one has failed and none runs any more. */
  | { readonly is: "over" }
  /** The items whose children are made now. */
  | { readonly is: "open"; readonly start: readonly number[] };

/** Whether a step goes on, and which children have room. After one that did not succeed, none is made. */
export function decideChildren(
  { items, maxParallel }: ChildCount,
  children: readonly Pick<Child, "item" | "state">[],
): ChildrenDecision {
  const open = children.filter(({ state }) => isUnfinished(state)).length;
  const hasFailed = children.some(({ state }) => !isUnfinished(state) && state !== "succeeded");
  const made = new Set(children.map(({ item }) => item));
  const room = hasFailed ? 0 : Math.max(0, maxParallel - open);
  const start = [...Array(items).keys()].filter((item) => !made.has(item)).slice(0, room);
  return open === 0 && start.length === 0 ? { is: "over" } : { is: "open", start };
}

/** Why a task may have no more children; `undefined` if it may. */
export function whyNoChild(
  { level, below, more }: {
    /** How many tasks are above it. */
    readonly level: number;
    /** How many tasks there are below the one at the top. */
    readonly below: number;
    /** How many are to be made. */
    readonly more: number;
  },
): string | undefined {
  if (level >= MAX_LEVELS) {
    return `${MAX_LEVELS} tasks are above this one already: does a workflow start itself?`;
  }
  if (below + more <= MAX_BELOW) return undefined;
  return `one task has at most ${MAX_BELOW} tasks below it: does a workflow start itself?`;
}

/** A workspace in which a task runs, and whether it keeps its room there while it waits. */
export interface TakenRoom {
  readonly workspace: string;
  /** Most tasks under way there; absent if it has no limit. */
  readonly max?: number;
  /** Whether it runs in the directory itself: then no other task may come meanwhile. */
  readonly isShared: boolean;
}

/** In whose room a child runs: its own, or that of a task above which waits for it. */
export type RoomDecision =
  | { readonly room: "own" | "above" }
  | { readonly refused: string };

/**
 * In whose room a child runs. No child may queue for room that a task which waits for it keeps, or in a
 * circle with the tasks of others: they would wait for each other for ever.
 */
export function decideRoom(child: TakenRoom, above: readonly TakenRoom[]): RoomDecision {
  const kept = above.filter(({ isShared, max }) => isShared && max !== undefined);
  if (kept.some(({ workspace }) => workspace === child.workspace)) return { room: "above" };
  if (child.max === undefined || !child.isShared || kept.length === 0) return { room: "own" };
  return {
    refused: `its task keeps its room in workspace "${kept[0]?.workspace}" while it waits, and ` +
      `workspace "${child.workspace}" has a limit ("maxParallel") as well: two such tasks could wait ` +
      'for each other for ever. Give one of the two "isolation: worktree" or "copy", or no limit',
  };
}
