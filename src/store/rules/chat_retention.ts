/**
 * How long events of chat platforms and the bindings of tasks are kept.
 *
 * @module
 */

import type { SourceEventState } from "../source_event_records.ts";

/** The facts of an event that retention decides by. */
export interface EventUse {
  readonly state: SourceEventState;
  /** Whether the task that the event started or went to is stored. */
  readonly hasTask: boolean;
  /**
   * Whether another task retries the one that its delivery started: that task answers in the same
   * thread.
   */
  readonly isRetried: boolean;
}

/** Whether an event stays whatever its age: it waits to be routed, or a task needs it. */
export function isEventNeeded({ state, hasTask, isRetried }: EventUse): boolean {
  return state === "received" || state === "routing" || hasTask || isRetried;
}

/** Whether a binding stays: a follow-up renews an old one, and a task needs its thread. */
export function isBindingNeeded(
  { updatedAt, hasTask }: { readonly updatedAt: number; readonly hasTask: boolean },
  before: number,
): boolean {
  return updatedAt >= before || hasTask;
}
