/**
 * How long events of chat platforms and the threads of tasks are kept.
 *
 * @module
 */

import type { SourceEventState } from "../source_event_records.ts";

/** What retention knows of an event. */
export interface EventUse {
  /** Where it stands. */
  readonly state: SourceEventState;
  /** Whether the task it started or went to is stored. */
  readonly hasTask: boolean;
  /** Whether a task repeats the one its delivery started: that answers in the same thread. */
  readonly isRetried: boolean;
}

/** Whether an event stays however old it is: it waits to be routed, or a task needs it. */
export function isEventNeeded({ state, hasTask, isRetried }: EventUse): boolean {
  return state === "received" || state === "routing" || hasTask || isRetried;
}

/**
 * Whether a binding stays: a follow-up makes an old one young again, and a task needs its thread.
 */
export function isBindingNeeded(
  { updatedAt, hasTask }: { readonly updatedAt: number; readonly hasTask: boolean },
  before: number,
): boolean {
  return updatedAt >= before || hasTask;
}
