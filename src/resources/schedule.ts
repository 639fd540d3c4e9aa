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
    return `"${schedule}" is no schedule: ${messageOf(error)}`;
  }
}

/** When a schedule comes next after `afterMs`, in milliseconds since the epoch; `undefined` for never. */
export function nextRun(
  { schedule, timezone }: { schedule: string; timezone: string },
  afterMs: number,
): number | undefined {
  const cron = new Cron(schedule, { timezone, paused: true, mode: "5-part" });
  return cron.nextRun(new Date(afterMs))?.getTime();
}
