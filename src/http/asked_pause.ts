/**
 * The pause that another server asks for (`Retry-After`). Each one is limited: a server that asks for a
 * year, by mistake or because it was compromised, must not stop the calls to it for so long. Pure.
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

/** Longest pause that svc makes; a server that needs a longer one asks again after it. */
export const MAX_PAUSE_SECS = 3600;

/** Checked before `Date.parse`, which makes a date of nearly any text. */
const HTTP_DATE = /^[A-Z][a-z]{2,8}, .{1,40} GMT$/;

/** Seconds that `Retry-After` asks for; `undefined` if it is neither a number nor a date. */
export function askedPause(headers: Headers, now: number): number | undefined {
  const asked = headers.get("retry-after")?.trim() ?? "";
  if (/^[0-9]+(\.[0-9]+)?$/.test(asked)) return granted(Number(asked));
  const at = HTTP_DATE.test(asked) ? Date.parse(asked) : NaN;
  return Number.isNaN(at) ? undefined : granted((at - now) / 1000);
}

/** Seconds until a time in seconds since the epoch; `undefined` if the text is no such time. */
export function pauseUntil(epochSecs: string | null, now: number): number | undefined {
  if (epochSecs === null || !/^[0-9]+$/.test(epochSecs)) return undefined;
  return granted(Number(epochSecs) - now / 1000);
}

function granted(secs: number): number {
  return Math.min(Math.max(1, Math.ceil(secs)), MAX_PAUSE_SECS);
}
