/**
 * Whether a WebSocket that says it is open still is: the other side may have gone without a word,
 * and a machine that slept has lost its connections. Pure.
 *
 * ```ts
 * import { isStale, type Look } from "./silence.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * const before: Look = { wallMs: 0, passedMs: 0 };
 * equal(isStale({ wallMs: 10_000, passedMs: 10_000 }, { before, heardMs: 5_000 }), false);
 * equal(isStale({ wallMs: 3_600_000, passedMs: 10_000 }, { before, heardMs: 5_000 }), true);
 * ```
 *
 * @module
 */

/** The clock at one moment. */
export interface Look {
  /** Time of day, in milliseconds since the epoch. */
  readonly wallMs: number;
  /** Milliseconds since some moment, which setting the clock does not change. */
  readonly passedMs: number;
}

/** Time between two looks. */
export const LOOK_EVERY_MS = 10_000;
/** Silence after which nobody is there: Slack sends a ping far more often. */
const SILENT_MS = 60_000;
/** By how much a clock may run ahead of the time between two looks before the machine has slept. */
const JUMP_MS = 30_000;

/**
 * Whether nothing came for too long, or the machine slept between two looks.
 *
 * @param known What was seen at the look before, and when something came last (as `passedMs`).
 */
export function isStale(
  now: Look,
  { before, heardMs }: { readonly before: Look; readonly heardMs: number },
): boolean {
  if (now.passedMs - heardMs >= SILENT_MS) return true;
  // Whether the second clock goes on while a machine sleeps depends on the system.
  const longest = Math.max(now.wallMs - before.wallMs, now.passedMs - before.passedMs);
  return longest >= LOOK_EVERY_MS + JUMP_MS;
}
