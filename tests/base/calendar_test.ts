/**
 * Windows of the calendar: also on the days on which clocks are changed.
 *
 * @module
 */

import { deepStrictEqual as deepEqual, strictEqual as equal } from "node:assert/strict";
import { type CalendarWindow, calendarWindow, isTimezone } from "../../src/base/calendar.ts";

const HOUR = 3_600_000;

const CASES: readonly [
  per: CalendarWindow,
  timezone: string,
  at: string,
  from: string,
  to: string,
][] = [
  ["hour", "UTC", "2026-07-14T10:59:59.999Z", "2026-07-14T10:00:00Z", "2026-07-14T11:00:00Z"],
  ["day", "UTC", "2026-07-14T00:00:00Z", "2026-07-14T00:00:00Z", "2026-07-15T00:00:00Z"],
  ["week", "UTC", "2026-07-14T10:00:00Z", "2026-07-13T00:00:00Z", "2026-07-20T00:00:00Z"],
  ["week", "UTC", "2026-07-19T23:59:00Z", "2026-07-13T00:00:00Z", "2026-07-20T00:00:00Z"],
  ["month", "UTC", "2028-02-29T10:00:00Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"],
  ["month", "UTC", "2026-12-31T23:00:00Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"],
  ["day", "Asia/Tokyo", "2026-07-14T15:00:00Z", "2026-07-14T15:00:00Z", "2026-07-15T15:00:00Z"],
  // clocks are put forward, and back
  ["day", "Europe/Berlin", "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"],
  ["day", "Europe/Berlin", "2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"],
  ["hour", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z"],
  ["hour", "Europe/Berlin", "2026-10-25T01:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00Z"],
  ["week", "Europe/Berlin", "2026-10-25T12:00:00Z", "2026-10-18T22:00:00Z", "2026-10-25T23:00:00Z"],
  // a zone of half an hour, and a day that begins at one o'clock
  ["hour", "Asia/Kolkata", "2026-07-14T10:00:00Z", "2026-07-14T09:30:00Z", "2026-07-14T10:30:00Z"],
  ["day", "Asia/Beirut", "2026-03-29T12:00:00Z", "2026-03-28T22:00:00Z", "2026-03-29T21:00:00Z"],
];

for (const [per, timezone, at, from, to] of CASES) {
  Deno.test(`the ${per} around ${at} in ${timezone}`, () => {
    const { startsAt, endsAt } = calendarWindow(per, Date.parse(at), timezone);
    deepEqual([startsAt, endsAt], [Date.parse(from), Date.parse(to)]);
  });
}

Deno.test("days of 23 and 25 hours have that length, and windows follow on each other", () => {
  const length = (at: string) => {
    const { startsAt, endsAt } = calendarWindow("day", Date.parse(at), "Europe/Berlin");
    equal(calendarWindow("day", endsAt, "Europe/Berlin").startsAt, endsAt);
    return (endsAt - startsAt) / HOUR;
  };
  deepEqual(["2026-03-29T12:00:00Z", "2026-10-25T12:00:00Z"].map(length), [23, 25]);
});

Deno.test("only IANA names are time zones", () => {
  deepEqual(["UTC", "Europe/Berlin", "Mars/Base"].map(isTimezone), [true, true, false]);
});
