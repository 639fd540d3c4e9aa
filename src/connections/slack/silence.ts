/**
 * Whether a WebSocket that seems open still is: the other side may be gone without a close, and a
 * machine that slept has lost its connections. Pure.
 *
 * ```ts
 * import { type ClockReading, isStale } from "./silence.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * const last: ClockReading = { wallMs: 0, passedMs: 0 };
 * equal(isStale({ wallMs: 10_000, passedMs: 10_000 }, { last, heardMs: 5_000 }), false);
 * equal(isStale({ wallMs: 3_600_000, passedMs: 10_000 }, { last, heardMs: 5_000 }), true);
 * ```
 *
 * @module
 */

/** Both clocks at one moment. */
export interface ClockReading {
  /** Time of day, in milliseconds since the epoch. */
  readonly wallMs: number;
  /** Milliseconds of the monotonic clock, which setting the time of day does not change. */
  readonly passedMs: number;
}

/** Time between two readings. */
export const READ_EVERY_MS = 10_000;
/** Silence after which Slack is gone: it sends pings far more often. */
const SILENT_MS = 60_000;
/** By how much more than {@linkcode READ_EVERY_MS} may pass before the machine counts as having slept. */
const JUMP_MS = 30_000;

/**
 * Whether Slack was silent for too long, or the machine slept between two readings.
 *
 * @param known The reading before, and when Slack last sent anything (as `passedMs`).
 */
export function isStale(
  now: ClockReading,
  { last, heardMs }: { readonly last: ClockReading; readonly heardMs: number },
): boolean {
  if (now.passedMs - heardMs >= SILENT_MS) return true;
  // It depends on the system whether the monotonic clock goes on while a machine sleeps.
  const longest = Math.max(now.wallMs - last.wallMs, now.passedMs - last.passedMs);
  return longest >= READ_EVERY_MS + JUMP_MS;
}
