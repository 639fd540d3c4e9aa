/**
 * How long another server asks to be left alone: the one reader of such numbers, with the one limit to
 * them. A server that says a year, by mistake or because it was overtaken, must not silence what talks
 * to it until somebody notices. Pure.
 *
 * ```ts
 * import { askedPause, pauseUntil } from "./asked_pause.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * const now = Date.UTC(2026, 0, 1);
 * const asked = (value: string) => askedPause(new Headers({ "retry-after": value }), now);
 * equal(asked("17"), 17);
 * equal(asked("Thu, 01 Jan 2026 00:00:30 GMT"), 30);
 * equal(asked("86400"), 3600);
 * equal(asked("soon"), undefined);
 * equal(pauseUntil("1767225690", now), 90);
 * ```
 *
 * @module
 */

/** Longest pause that is granted; a server that wants more says so again. */
export const MAX_PAUSE_SECS = 3600;

/** A parser of dates makes one of nearly any text. */
const HTTP_DATE = /^[A-Z][a-z]{2,8}, .{1,40} GMT$/;

/** Seconds that `Retry-After` asks for, as a number or a date; `undefined` where it says neither. */
export function askedPause(headers: Headers, now: number): number | undefined {
  const asked = headers.get("retry-after")?.trim() ?? "";
  if (/^[0-9]+(\.[0-9]+)?$/.test(asked)) return granted(Number(asked));
  const at = HTTP_DATE.test(asked) ? Date.parse(asked) : NaN;
  return Number.isNaN(at) ? undefined : granted((at - now) / 1000);
}

/** Seconds until a time in seconds since the epoch; `undefined` where it is none. */
export function pauseUntil(epochSecs: string | null, now: number): number | undefined {
  if (epochSecs === null || !/^[0-9]+$/.test(epochSecs)) return undefined;
  return granted(Number(epochSecs) - now / 1000);
}

function granted(secs: number): number {
  return Math.min(Math.max(1, Math.ceil(secs)), MAX_PAUSE_SECS);
}
