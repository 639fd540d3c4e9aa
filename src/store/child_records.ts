/**
 * Records of child tasks: those that a step of another task has started and waits for.
 *
 * @module
 */

import type { DecidedByResources } from "./stale_resources.ts";
import type { NewTask, TaskState } from "./task_records.ts";
import type { AskedWait, Wait, WaitOutputs, WaitPlace } from "./wait_records.ts";

/** A child task, as the step that waits for it sees it: at most one for each item. */
export interface Child extends WaitPlace {
  /** Its place in the list of items, from 0; 0 of a step that starts one child. */
  readonly item: number;
  /** Id of the child. */
  readonly id: string;
  readonly workflow: string;
  /** `failed` if its record is gone. */
  readonly state: TaskState;
  /** Empty if there is none. */
  readonly reason: string;
}

/** A child with what its workflow gives. */
export interface ChildResult extends Child {
  /** Empty before it has succeeded, and while its step waits for others. */
  readonly outputs: WaitOutputs;
}

/** What a child is given, by name. */
export interface ChildInputs {
  readonly item: number;
  readonly inputs: Readonly<Record<string, string>>;
}

/** A child to be made, and its place. */
export interface NewChild extends ChildInputs {
  /** It has no payload of its own: it gets that of the task above, with its event. */
  readonly task: NewTask;
}

/** The children of a step that have room and are not made. */
export interface NextChildren extends WaitPlace {
  readonly project: string;
  readonly next: readonly ChildInputs[];
}

/** How many children a step has, as the part of its wait says. */
export interface ChildCount {
  readonly items: number;
  /** Most of them at once. */
  readonly maxParallel: number;
}

/** What a step asks for that starts children. */
export interface AskedChildren extends DecidedByResources {
  /**
   * Its wait, of one part of kind `task`, which asks for a {@linkcode ChildCount}, and shows the inputs of
   * all items where not all of them may be made at once.
   */
  readonly wait: AskedWait;
  /** Whether not the step asks, but what has followed the end of another child of it. */
  readonly isFollowUp?: boolean;
  /** The children that may be made now; those that have no room are left out. */
  readonly children: readonly NewChild[];
  /** Whether they run in the directory of their workspace itself, beside others. */
  readonly isShared: boolean;
  /** The workspaces in whose directory tasks above them run, that of the asking task included. */
  readonly sharedAbove: readonly string[];
}

/** The children of a step. */
export interface StartedChildren {
  readonly wait: Wait;
  /** By item. */
  readonly children: readonly ChildResult[];
  /** Ids of those that were made now. */
  readonly made: readonly string[];
}

/** Filter of a list of children. */
export interface ChildQuery {
  /** The task that waits for them. */
  readonly taskId: string;
  /** Position of its step; of any step when absent. */
  readonly position?: number;
  /** Number of the round; of any round when absent. */
  readonly round?: number;
  /** Only those whose end is not noted yet. */
  readonly isOpen?: boolean;
  readonly limit: number;
}

/** A child for which nothing waits any more, though it has not ended. */
export interface AbandonedChild extends WaitPlace {
  /** Id of the child. */
  readonly id: string;
}

/** Children for which nothing waits any more. */
export interface AbandonedChildren {
  readonly children: readonly AbandonedChild[];
  /** When the time of a step will be over that waits for children; absent if none does. */
  readonly nextAt?: number;
}

/** What the end of a child has brought about. */
export interface ChildEnd {
  /** The task that waited for it. */
  readonly parentId: string;
  /** Whether its step goes on. */
  readonly isOver: boolean;
}
