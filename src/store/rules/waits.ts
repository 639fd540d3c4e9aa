/**
 * Waits of steps: whether the time of one has come, and what becomes of its time if the clock is set.
 *
 * @module
 */

import type { Wait, WaitEnd } from "../wait_records.ts";
import { whatIsDue } from "./readiness.ts";

/** What becomes of an open wait that its step asks about. */
export type WaitDecision =
  | { readonly is: "open" }
  /** It stays open, with another time: the clock was set back. */
  | { readonly is: "moved"; readonly openedAt: number; readonly dueAt: number }
  | { readonly is: "over"; readonly end: WaitEnd };

/**
 * Decides on an open wait. One that was opened in a future that no longer is one, because the clock was
 * set back, begins anew: never early, and as late as it may be.
 */
export function decideWait(
  { openedAt, dueAt, isRelative }: Pick<Wait, "openedAt" | "dueAt" | "isRelative">,
  now: number,
): WaitDecision {
  if (dueAt <= now) return { is: "over", end: { by: "time" } };
  if (openedAt <= whatIsDue(now).createdAfter) return { is: "open" };
  return { is: "moved", openedAt: now, dueAt: isRelative ? now + (dueAt - openedAt) : dueAt };
}
