/**
 * When a message is tried again, and when a lane may send the next one.
 *
 * @module
 */

import { MAX_PAUSE_SECS } from "../http/asked_pause.ts";
import type { Rate } from "./message_kind.ts";

const MINUTE_MS = 60_000;
/** Pauses after the first tries; the last one also follows every further try. */
const PAUSES_MS = [MINUTE_MS, 5 * MINUTE_MS, 25 * MINUTE_MS, 60 * MINUTE_MS];
/** How long a message is tried: longer than the day for which another system may be down. */
const GIVE_UP_MS = 36 * 60 * MINUTE_MS;

/** A try that did not send the message and is not the last. */
export interface TryFacts {
  /** Number of tries, this one included. */
  readonly tries: number;
  /** Milliseconds since the epoch of the first one. */
  readonly firstTriedAt: number;
  readonly now: number;
  /** Pause for which the other system asked. */
  readonly afterSecs?: number;
}

/** Time of the next try in milliseconds since the epoch; `undefined` if the message is given up. */
export function nextTryAt({ tries, firstTriedAt, now, afterSecs }: TryFacts): number | undefined {
  if (now - firstTriedAt >= GIVE_UP_MS) return undefined;
  if (afterSecs !== undefined) return now + Math.min(afterSecs, MAX_PAUSE_SECS) * 1000;
  return now + (PAUSES_MS[Math.min(tries, PAUSES_MS.length) - 1] ?? MINUTE_MS);
}

/** Remembers when a lane has sent, and so keeps its rates. */
export class RateLimiter {
  #times: number[] = [];

  /** Notes a message that was sent at `now`; returns the time of the earliest next one. */
  sent(now: number, rates: readonly Rate[]): number {
    const longest = Math.max(0, ...rates.map(({ perMs }) => perMs));
    this.#times = [...this.#times.filter((time) => time <= now && time > now - longest), now];
    const free = rates.map(({ most, perMs }) => {
      const first = this.#times.at(-most);
      return first === undefined ? now : first + perMs;
    });
    return Math.max(now, ...free);
  }
}
