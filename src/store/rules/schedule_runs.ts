/**
 * Which run of a schedule is a new one, where several daemons go by the same schedule. Pure.
 *
 * @module
 */

import type { Found } from "./needs.ts";

/** A clock that is behind the last run by more than clocks differ was set back. */
const CLOCK_STEP_MS = 10 * 60_000;

/** Whether the run at a time is another one than the last, in milliseconds since the epoch. */
export function isNewRun(last: Found<number>, at: number): boolean {
  return last === "none" || at > last || last - at > CLOCK_STEP_MS;
}
