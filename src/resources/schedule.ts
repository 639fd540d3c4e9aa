/**
 * Cron schedules: five fields, checked on apply. Beside the schedulers, the only importer of the
 * cron library.
 *
 * @module
 */

import { Cron } from "croner";
import { messageOf } from "../base/errors.ts";

/** The error of a schedule, as a sentence; `undefined` when it is valid and has a next time. */
export function findScheduleFault(schedule: string, timezone = "UTC"): string | undefined {
  if (schedule.trim().split(/\s+/).length !== 5) {
    return `A schedule has five fields (minute hour day month weekday), not "${schedule}"`;
  }
  try {
    const next = nextRun({ schedule, timezone }, 0);
    return next === undefined ? `"${schedule}" never occurs` : undefined;
  } catch (error) {
    return `"${schedule}" is not a schedule: ${messageOf(error)}`;
  }
}

/**
 * The next time of a schedule after `afterMs`, in milliseconds since the epoch; `undefined` for
 * never.
 */
export function nextRun(times: CronTimes, afterMs: number): number | undefined {
  return new Schedule(times).next(afterMs);
}

/** A schedule and its time zone. */
export interface CronTimes {
  /** Five fields: minute, hour, day, month, weekday. */
  readonly schedule: string;
  /** IANA name of the time zone. */
  readonly timezone: string;
}

/** A parsed schedule, for repeated use. All times are in milliseconds since the epoch. */
export class Schedule {
  readonly #cron: Cron;
  /** The last result, which holds until its time has passed. */
  #last: { readonly after: number; readonly next: number | undefined } | undefined;

  /** Parses a schedule that passed {@linkcode findScheduleFault}. */
  constructor({ schedule, timezone }: CronTimes) {
    this.#cron = new Cron(schedule, { timezone, paused: true, mode: "5-part" });
  }

  /** The first time after `afterMs`; `undefined` for never. */
  next(afterMs: number): number | undefined {
    const last = this.#last;
    if (last !== undefined && last.after <= afterMs && afterMs < (last.next ?? Infinity)) {
      return last.next;
    }
    const next = this.#cron.nextRun(new Date(afterMs))?.getTime();
    this.#last = { after: afterMs, next };
    return next;
  }

  /** The last `count` times before `beforeMs`, newest first. */
  before(beforeMs: number, count: number): number[] {
    return this.#cron.previousRuns(count, new Date(beforeMs)).map((date) => date.getTime());
  }
}
