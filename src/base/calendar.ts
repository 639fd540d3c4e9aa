/**
 * Windows of the calendar in a time zone: hours, days, weeks and months. Pure.
 *
 * @module
 */

/** The windows of the calendar, by what they are called. */
export const CALENDAR_WINDOWS = ["hour", "day", "week", "month"] as const;
/** One of {@linkcode CALENDAR_WINDOWS}. A week begins on Monday. */
export type CalendarWindow = typeof CALENDAR_WINDOWS[number];

/** A span of time; both in milliseconds since the epoch. */
export interface TimeSpan {
  readonly startsAt: number;
  /** The first moment after it. */
  readonly endsAt: number;
}

/**
 * The window of the calendar around a moment. A day on which clocks are put forward has 23 hours, and
 * one on which they are put back has 25.
 *
 * @param now in milliseconds since the epoch.
 * @param timezone an IANA name.
 */
export function calendarWindow(per: CalendarWindow, now: number, timezone: string): TimeSpan {
  const local = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(timezone);
  const start = startOf(per, local);
  return {
    startsAt: start.epochMilliseconds,
    endsAt: startOf(per, start.add({ [`${per}s`]: 1 })).epochMilliseconds,
  };
}

function startOf(per: CalendarWindow, local: Temporal.ZonedDateTime): Temporal.ZonedDateTime {
  switch (per) {
    case "hour":
      return local.round({ smallestUnit: "hour", roundingMode: "floor" });
    case "day":
      return local.startOfDay();
    case "week":
      return local.subtract({ days: local.dayOfWeek - 1 }).startOfDay();
    case "month":
      return local.with({ day: 1 }).startOfDay();
  }
}

/** Whether this machine knows a time zone of this name. */
export function isTimezone(timezone: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: timezone });
    return true;
  } catch {
    return false;
  }
}
