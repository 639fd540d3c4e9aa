/**
 * When an event of a chat platform is routed: one of each thread at a time and in the order they
 * came, when it is due, and again when a person asks for it.
 *
 * @module
 */

import type { SourceEventState } from "../source_event_records.ts";

/**
 * Due whatever the clock says: an event that is due now does not wait for a clock that was set
 * back.
 */
export const DUE_NOW = 0;

/**
 * Nothing is put off for longer: what is due later than this comes from a clock that was set back.
 */
const LONGEST_PAUSE_MS = 10 * 60_000;

/** Which events are due: up to `until`, and from a future that is none, later than `beyond`. */
export function dueTimes(now: number): { readonly until: number; readonly beyond: number } {
  return { until: now, beyond: now + LONGEST_PAUSE_MS };
}

/** How an event waits. */
export interface QueuePlace {
  /** Where it stands. */
  readonly state: SourceEventState;
  /** Whether another one of its thread is routed before it; until then nobody looks at it. */
  readonly behind: boolean;
}

/** How an event enters the queue; one that is to be ignored never waits. */
export function enqueue(
  { ignored, isThreadBusy }: { readonly ignored: boolean; readonly isThreadBusy: boolean },
): QueuePlace {
  return { state: ignored ? "ignored" : "received", behind: !ignored && isThreadBusy };
}

/** What becomes of an event whose routing failed. */
export interface AfterFailure {
  /** Where it stands. */
  readonly state: SourceEventState;
  /** Failures that are added to those it has. */
  readonly attempts: number;
  /** Whether the next one of its thread has its turn. */
  readonly letsNextIn: boolean;
}

/** An event with a time at which it is tried again keeps its turn; without one it has failed. */
export function afterFailure(
  { dueAt, counts }: { readonly dueAt?: number; readonly counts: boolean },
): AfterFailure {
  const over = dueAt === undefined;
  return { state: over ? "failed" : "received", attempts: counts ? 1 : 0, letsNextIn: over };
}

/** Whether a person can have an event routed once more: it was not, and is not being. */
export function canReplay(state: SourceEventState): boolean {
  return state === "ignored" || state === "needs_attention" || state === "failed";
}

/** The first of some times, if there is any. */
export function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
