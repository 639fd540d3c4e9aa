/**
 * `rateLimit`: how many tasks of a trigger may start within a minute, by the generic cell rate
 * algorithm. The tasks of one minute may start at once, later ones one at a time.
 *
 * @module
 */

import type { NewTask } from "../task_records.ts";
import type { Found } from "./needs.ts";

const MINUTE_MS = 60_000;
/** A clock that goes back by more than requests overtake each other was set back. */
const CLOCK_STEP_MS = 10 * MINUTE_MS;

/** Stored state of the rate of one trigger; times in milliseconds since the epoch. */
export interface RateState {
  /** Theoretical arrival time of the algorithm: when the next task would start at an even pace. */
  readonly dueAt: number;
  /** The latest arrival of a task. */
  readonly seenAt: number;
}

/** Earliest start of a new task, not before `now`, and the state of the rate after it. */
export function reserveRateSlot(
  { perMinute }: Pick<NonNullable<NewTask["rateLimit"]>, "perMinute">,
  state: Found<RateState>,
  now: number,
): { readonly startAt: number; readonly next: RateState } {
  const interval = MINUTE_MS / perMinute;
  const { dueAt, seenAt } = state === "none" ? { dueAt: now, seenAt: now } : state;
  const setBack = seenAt - now > CLOCK_STEP_MS ? seenAt - now : 0;
  const due = Math.max(now, dueAt - setBack);
  return {
    startAt: Math.max(now, Math.ceil(due - (MINUTE_MS - interval))),
    next: { dueAt: due + interval, seenAt: setBack > 0 ? now : Math.max(seenAt, now) },
  };
}
