/**
 * The time of signing: strict forms, and the replay window on both sides of now. A sender's text is
 * never given to `Number` or `Date.parse`, which accept `1.7e9`, `0x…` and `NaN`; with `NaN`, every
 * comparison with a window is false.
 *
 * ```ts
 * import { findSeconds, findTime, refusedTime, type TimeWindow } from "./timestamp.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * equal(findSeconds("1531420618"), 1531420618000);
 * equal(findSeconds("1.531e9"), undefined);
 * equal(findTime("Thu 07 Sep 2017 06:30:04 UTC"), 1504765804000);
 * const window: TimeWindow = { find: findSeconds, now: 1531420919000, toleranceSecs: 300 };
 * equal(refusedTime("1531420618", window), "timestamp_outside_window");
 * ```
 *
 * @module
 */

import { rfc3339 } from "../base/clock.ts";
import type { VerifyFailure } from "./scheme.ts";

/** Milliseconds since the epoch of whole seconds, 1 to 12 digits. */
export function findSeconds(text: string): number | undefined {
  return /^[0-9]{1,12}$/.test(text) ? Number(text) * 1000 : undefined;
}

/**
 * Milliseconds since the epoch of seconds, of 13 digits of milliseconds, of RFC 3339 or HTTP dates.
 */
export function findTime(text: string): number | undefined {
  if (/^[0-9]{13}$/.test(text)) return Number(text);
  return findSeconds(text) ?? findRfc3339(text) ?? findHttpDate(text);
}

/** The time and the window in which a time of signing has to be. */
export interface TimeWindow {
  /** Reads the platform's form. */
  readonly find: (text: string) => number | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Largest difference in seconds, before and after now. */
  readonly toleranceSecs: number;
}

/** Why a time of signing is refused; `undefined` when it is within the window. */
export function refusedTime(
  text: string | undefined,
  { find, now, toleranceSecs }: TimeWindow,
): VerifyFailure | undefined {
  if (text === undefined || text === "") return "timestamp_missing";
  const time = find(text);
  if (time === undefined) return "timestamp_malformed";
  return Math.abs(now - time) <= toleranceSecs * 1000 ? undefined : "timestamp_outside_window";
}

const RFC_3339 =
  /^([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?(?:Z|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))$/;

function findRfc3339(text: string): number | undefined {
  const match = RFC_3339.exec(text);
  if (match === null) return undefined;
  const [, local = "", fraction = "0", sign, hours = "0", minutes = "0"] = match;
  const utc = findUtc(local);
  if (utc === undefined) return undefined;
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000;
  return utc + Math.floor(Number(`0.${fraction}`) * 1000) + (sign === "-" ? offset : -offset);
}

const DAYS = "Thu Fri Sat Sun Mon Tue Wed".split(" "); // the epoch was a Thursday
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
const HTTP_DATE = new RegExp(
  `^(${DAYS.join("|")}),? ([0-9]{2}) (${MONTHS.join("|")}) ([0-9]{4}) ` +
    "([0-9]{2}:[0-9]{2}:[0-9]{2}) (?:UTC|GMT)$",
);

/** Parses an HTTP date, also without its comma, as Scalr writes it. */
function findHttpDate(text: string): number | undefined {
  const match = HTTP_DATE.exec(text);
  if (match === null) return undefined;
  const [, day = "", date = "", month = "", year = "", time = ""] = match;
  const number = String(MONTHS.indexOf(month) + 1).padStart(2, "0");
  const utc = findUtc(`${year}-${number}-${date}T${time}`);
  return utc !== undefined && DAYS.at(Math.floor(utc / 86_400_000) % 7) === day ? utc : undefined;
}

/**
 * Parses a date and time; `undefined` for the 30th of February, which `Date.UTC` would turn into
 * March.
 */
function findUtc(local: string): number | undefined {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = local.split(/[-T:]/)
    .map(Number);
  const time = Date.UTC(year, month - 1, day, hour, minute, second);
  return rfc3339(time).startsWith(`${local}.`) ? time : undefined;
}
