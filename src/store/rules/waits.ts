/**
 * Waits of steps: whether the time of one has come, and what becomes of its time if the clock is set.
 *
 * @module
 */

import { firstIdAt } from "../../base/ids.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Wait, WaitEnd, WaitPart } from "../wait_records.ts";
import { whatIsDue } from "./readiness.ts";

/** Whether people are asked, so that nothing but an answer of theirs lets the task go on. */
export function isQuestion(
  { parts }: { readonly parts: readonly Pick<WaitPart, "kind">[] },
): boolean {
  return parts.some(({ kind }) => kind === "approval");
}

/** What becomes of an open wait that its step asks about. */
export type WaitDecision =
  | { readonly is: "open" }
  /** It stays open, with other times: the clock was set back. */
  | { readonly is: "moved"; readonly openedAt: number; readonly dueAts: readonly number[] }
  /** The time of one of its parts has come, the one that was due first. */
  | { readonly is: "over"; readonly part: number; readonly end: WaitEnd };

/**
 * Decides on an open wait. One that was opened in a future that no longer is one, because the clock was
 * set back, begins anew: never early, and as late as it may be.
 */
export function decideWait(
  { openedAt, parts }: {
    readonly openedAt: Wait["openedAt"];
    readonly parts: readonly Pick<WaitPart, "dueAt" | "isRelative">[];
  },
  now: number,
): WaitDecision {
  const first = Math.min(...parts.map(({ dueAt }) => dueAt));
  if (first <= now) {
    return {
      is: "over",
      part: parts.findIndex(({ dueAt }) => dueAt === first),
      end: { by: "time" },
    };
  }
  if (openedAt <= whatIsDue(now).createdAfter) return { is: "open" };
  return {
    is: "moved",
    openedAt: now,
    dueAts: parts.map(({ dueAt, isRelative }) => isRelative ? now + (dueAt - openedAt) : dueAt),
  };
}

/**
 * What a part asks once its wait has begun anew, because the clock was set back. The ids of events are made
 * of the time, so those that come now may sort before the first one that it takes.
 */
export function askedAnew({ kind, asked = {} }: WaitPart, now: number): JsonObject {
  const { from } = asked;
  const first = firstIdAt(now);
  return kind === "event" && typeof from === "string" && from > first
    ? { ...asked, from: first }
    : asked;
}
