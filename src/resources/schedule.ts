/**
 * Cron schedules: five fields, checked on apply. The only importer of the cron library beside the
 * schedulers themselves.
 *
 * @module
 */

import { Cron } from "croner";
import { messageOf } from "../base/errors.ts";

/** What is wrong with a schedule, as a sentence; `undefined` when it is right and can ever come. */
export function findScheduleFault(schedule: string, timezone = "UTC"): string | undefined {
  if (schedule.trim().split(/\s+/).length !== 5) {
    return `A schedule has five fields (minute hour day month weekday), not "${schedule}"`;
  }
  try {
    const next = nextRun({ schedule, timezone }, 0);
    return next === undefined ? `"${schedule}" never comes` : undefined;
  } catch (error) {
    return `"${schedule}" is not a schedule: ${messageOf(error)}`;
  }
}

/**
 * When a schedule comes next after `afterMs`, in milliseconds since the epoch; `undefined` for
 * never.
 */
export function nextRun(times: CronTimes, afterMs: number): number | undefined {
  return new Schedule(times).next(afterMs);
}

/** Five fields and the zone in which they are meant. */
export interface CronTimes {
  /** Minute, hour, day, month, weekday. */
  readonly schedule: string;
  /** IANA zone. */
  readonly timezone: string;
}

/** A schedule that is asked again and again. All times are in milliseconds since the epoch. */
export class Schedule {
  readonly #cron: Cron;
  /** The last answer: it stays right until its time has come, however often it is asked for. */
  #known: { readonly after: number; readonly next: number | undefined } | undefined;

  /** Parses a schedule that passed {@linkcode findScheduleFault}. */
  constructor({ schedule, timezone }: CronTimes) {
    this.#cron = new Cron(schedule, { timezone, paused: true, mode: "5-part" });
  }

  /** The first time after `afterMs`; `undefined` for never. */
  next(afterMs: number): number | undefined {
    const known = this.#known;
    if (known !== undefined && known.after <= afterMs && afterMs < (known.next ?? Infinity)) {
      return known.next;
    }
    const next = this.#cron.nextRun(new Date(afterMs))?.getTime();
    this.#known = { after: afterMs, next };
    return next;
  }

  /** The last `count` times before `beforeMs`, newest first. */
  before(beforeMs: number, count: number): number[] {
    return this.#cron.previousRuns(count, new Date(beforeMs)).map((date) => date.getTime());
  }
}
