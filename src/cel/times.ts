/**
 * CEL's functions of time where the library differs from CEL: `timestamp(int)` takes seconds, and
 * fields of a date do not depend on the daemon's time zone.
 *
 * @module
 */

import { type CelFunc, celFunc, celMethod, CelScalar, objectType } from "@bufbuild/cel";

const { INT, STRING } = CelScalar;
const TIMESTAMP = objectType("google.protobuf.Timestamp");

/** The first and the last second of the years 1 to 9999: CEL knows no others. */
const FIRST = -62_135_596_800n;
const LAST = 253_402_300_799n;

const DAY_MS = 86_400_000;

/** A timestamp of the library. */
interface Timestamp {
  readonly message: { readonly seconds: bigint; readonly nanos: number };
}

function fromSeconds(seconds: bigint) {
  if (seconds < FIRST || seconds > LAST) throw new Error(`timestamp out of range: ${seconds}`);
  return { $typeName: "google.protobuf.Timestamp", seconds, nanos: 0 };
}

const OFFSET = /^([+-]?)(\d\d):(\d\d)$/;

/**
 * A date whose UTC fields are those of a clock in a zone: an offset, or a name such as Asia/Tokyo.
 */
function clockIn(time: Timestamp, zone = "UTC"): Date {
  const { seconds, nanos } = time.message;
  const date = new Date(Number(seconds) * 1000 + Math.floor(nanos / 1e6));
  if (zone === "UTC") return date;
  const [, sign, hours, minutes] = OFFSET.exec(zone) ?? [];
  if (hours === undefined) return clockInNamed(date, zone);
  const ahead = (Number(hours) * 60 + Number(minutes)) * 60_000;
  return new Date(date.getTime() + (sign === "-" ? -ahead : ahead));
}

function clockInNamed(date: Date, timeZone: string): Date {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  const parts = format.formatToParts(date);
  const part = (type: string) => Number(parts.find((one) => one.type === type)?.value);
  const shown = new Date(0);
  shown.setUTCFullYear(part("year"), part("month") - 1, part("day"));
  shown.setUTCHours(part("hour"), part("minute"), part("second"), date.getUTCMilliseconds());
  return shown;
}

function dayOfYear(date: Date): number {
  const first = new Date(date);
  first.setUTCMonth(0, 1);
  return Math.round((date.getTime() - first.getTime()) / DAY_MS);
}

/**
 * Fields of a date. Months, and days of the month, week and year, count from 0; `getDate` counts
 * from 1.
 */
const CLOCK: Readonly<Record<string, (date: Date) => number>> = {
  getFullYear: (date) => date.getUTCFullYear(),
  getMonth: (date) => date.getUTCMonth(),
  getDate: (date) => date.getUTCDate(),
  getDayOfMonth: (date) => date.getUTCDate() - 1,
  getDayOfWeek: (date) => date.getUTCDay(),
  getDayOfYear: dayOfYear,
  getHours: (date) => date.getUTCHours(),
  getMinutes: (date) => date.getUTCMinutes(),
  getSeconds: (date) => date.getUTCSeconds(),
  getMilliseconds: (date) => date.getUTCMilliseconds(),
};

function clockMethods([name, read]: [string, (date: Date) => number]): CelFunc[] {
  const method = (time: unknown, zone?: string) => BigInt(read(clockIn(time as Timestamp, zone)));
  return [
    celMethod(name, TIMESTAMP, [], INT, function () {
      return method(this);
    }),
    celMethod(name, TIMESTAMP, [STRING], INT, function (zone) {
      return method(this, zone);
    }),
  ];
}

/** Functions that replace the library's. */
export const TIME_FUNCTIONS: CelFunc[] = [
  celFunc("timestamp", [INT], TIMESTAMP, fromSeconds),
  ...Object.entries(CLOCK).flatMap(clockMethods),
];
