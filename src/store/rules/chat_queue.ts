/**
 * When an event of a chat platform is routed: one of each thread at a time and in order of arrival,
 * at its due time, and again when an operator replays it.
 *
 * @module
 */

import type { SourceEventState } from "../source_event_records.ts";

/** The time of an event that is due at once, also after the clock was set back. */
export const DUE_NOW = 0;

/** Longest time an event is postponed: a later due time comes from a clock that was set back. */
const LONGEST_PAUSE_MS = 10 * 60_000;

/**
 * Due times that count as due: up to `until`, and, in a future no event can have, later than
 * `beyond`.
 */
export function dueTimes(now: number): { readonly until: number; readonly beyond: number } {
  return { until: now, beyond: now + LONGEST_PAUSE_MS };
}

/** State of an event in the queue. */
export interface QueueState {
  readonly state: SourceEventState;
  /** Whether another event of its thread is routed before it; it is not due until then. */
  readonly behind: boolean;
}

/** How an event enters the queue; an event that is to be ignored never waits. */
export function enqueue(
  { ignored, isThreadBusy }: { readonly ignored: boolean; readonly isThreadBusy: boolean },
): QueueState {
  return { state: ignored ? "ignored" : "received", behind: !ignored && isThreadBusy };
}

/** State of an event whose routing failed. */
export interface AfterFailure {
  readonly state: SourceEventState;
  /** Number of failures to add. */
  readonly attempts: number;
  /** Whether the next event of its thread may be routed. */
  readonly promotesNext: boolean;
}

/** An event with a time for the next attempt keeps its turn; without one it has failed. */
export function afterFailure(
  { dueAt, counts }: { readonly dueAt?: number; readonly counts: boolean },
): AfterFailure {
  const over = dueAt === undefined;
  return { state: over ? "failed" : "received", attempts: counts ? 1 : 0, promotesNext: over };
}

/** Whether an operator can replay an event: it was not routed, and is not being routed. */
export function canReplay(state: SourceEventState): boolean {
  return state === "ignored" || state === "needs_attention" || state === "failed";
}

/** The earliest of the given times; `undefined` when there is none. */
export function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
