/**
 * Identifiers: ULIDs. They sort by the time at which they were made, so the newest rows are neighbours on
 * the disk.
 *
 * @module
 */

import { encodeTime, monotonicFactory } from "ulid";
import { sha256Hex } from "./bytes.ts";
import { LAST_TIME_MS, type WallClock } from "./clock.ts";

/** Makes an identifier of 26 characters, which sorts after all that were made before. */
export type NewId = () => string;

/** A function that makes identifiers with the time of `clock`. */
export function idFactory(clock: WallClock): NewId {
  const next = monotonicFactory(randomFractions());
  return () => next(clock.now());
}

/** Random bytes that are drawn at once; the package draws them one by one, which takes 10 µs for an id. */
const RANDOM_BYTES = 1024;

/** A function that returns random fractions below 1; each becomes one of 32 digits. */
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

/** A text that sorts after all identifiers that were made before `ms` since the epoch. */
export function firstIdAt(ms: number): string {
  return encodeTime(Math.min(Math.max(0, Math.floor(ms)), LAST_TIME_MS));
}

/** Digits of Crockford's base32, in their order. */
const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/**
 * The identifier of an event that has an identity of its own: the same time and text give the same
 * identifier in every process. `ms` is the event's own time; `text` is everything that distinguishes it.
 */
export function eventId(ms: number, text: string): string {
  const bits = BigInt(`0x${sha256Hex(text).slice(0, 20)}`);
  const digits = Array.from({ length: 16 }, (_, at) => Number((bits >> BigInt(75 - 5 * at)) & 31n));
  return firstIdAt(ms) + digits.map((digit) => DIGITS[digit]).join("");
}
