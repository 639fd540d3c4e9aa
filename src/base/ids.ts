/**
 * Identifiers: ULIDs, which sort by time of making, so that the newest rows lie together on disk.
 *
 * @module
 */

import { encodeTime, monotonicFactory } from "ulid";
import { sha256Hex } from "./bytes.ts";
import { LAST_TIME_MS, type WallClock } from "./clock.ts";

/** Makes a new identifier: 26 characters, later ones sort after earlier ones. */
export type NewId = () => string;

/** A maker of identifiers that reads the time from `clock`. */
export function idFactory(clock: WallClock): NewId {
  const next = monotonicFactory(randomFractions());
  return () => next(clock.now());
}

/** Random bytes drawn at once: the package by itself draws them one by one, 10 µs an identifier. */
const RANDOM_BYTES = 1024;

/** Fractions from 0 to less than 1 in steps of 1/256; each becomes one of 32 digits. */
function randomFractions(): () => number {
  const bytes = new Uint8Array(RANDOM_BYTES);
  let used = RANDOM_BYTES;
  return () => {
    if (used === RANDOM_BYTES) {
      crypto.getRandomValues(bytes);
      used = 0;
    }
    return (bytes[used++] ?? 0) / 256;
  };
}

/** The text before which the identifiers made before `ms` since the epoch sort. */
export function firstIdAt(ms: number): string {
  return encodeTime(Math.min(Math.max(0, Math.floor(ms)), LAST_TIME_MS));
}

/** Digits of Crockford's base32, in their order. */
const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/**
 * The identifier of something that names itself: the same time and text give the same identifier,
 * in any process and any number of times. `ms` is the event's own time, `text` everything that
 * tells it from others.
 */
export function eventId(ms: number, text: string): string {
  const bits = BigInt(`0x${sha256Hex(text).slice(0, 20)}`);
  const digits = Array.from({ length: 16 }, (_, at) => Number((bits >> BigInt(75 - 5 * at)) & 31n));
  return firstIdAt(ms) + digits.map((digit) => DIGITS[digit]).join("");
}
