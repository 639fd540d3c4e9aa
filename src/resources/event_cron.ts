/**
 * The block `spec.event.cron`: the schedule of a trigger, and what happens to missed times.
 *
 * @module
 */

import Type from "typebox";
import { isTimezone } from "../base/calendar.ts";
import type { EventDefinition } from "./event.ts";
import { errorAt, type Finding } from "./resource.ts";
import { findScheduleFault } from "./schedule.ts";

const CronSpec = Type.Object({
  schedule: Type.String({ minLength: 1, title: 'five fields, such as "0 3 * * *"' }),
  timezone: Type.Optional(Type.String({ minLength: 1, title: "an IANA zone, such as Asia/Tokyo" })),
  catchUp: Type.Optional(Type.Enum(["none", "one", "all"])),
  catchUpWindowSecs: Type.Optional(Type.Integer({ minimum: 60, maximum: 31 * 86_400 })),
}, { additionalProperties: false });

/** `spec.event.cron` as written by the user. */
export type CronSpec = Type.Static<typeof CronSpec>;

/** The time zone of a schedule that names none. */
export const DEFAULT_TIMEZONE = "UTC";
/** Default age up to which missed times are fired late, in seconds. */
export const DEFAULT_CATCH_UP_WINDOW_SECS = 3600;

const AT = ["spec", "event", "cron"];

/** The manifest side of the source `cron`. */
export const cronEvent: EventDefinition = {
  source: "cron",
  schema: CronSpec,
  check: (block) =>
    block === undefined
      ? [errorAt(AT, 'Source "cron" needs the block "cron" with its schedule')]
      : checkCron(block as CronSpec),
  references: () => [],
};

function checkCron({ schedule, timezone = DEFAULT_TIMEZONE, ...rest }: CronSpec): Finding[] {
  const findings: Finding[] = [];
  if (!isTimezone(timezone)) {
    findings.push(
      errorAt([...AT, "timezone"], `"${timezone}" is not an IANA zone, such as Asia/Tokyo`),
    );
  }
  const fault = findScheduleFault(schedule);
  if (fault !== undefined) findings.push(errorAt([...AT, "schedule"], fault));
  if (rest.catchUpWindowSecs !== undefined && (rest.catchUp ?? "none") === "none") {
    const message = '"catchUp: none" makes up for nothing, write one or all';
    findings.push(errorAt([...AT, "catchUpWindowSecs"], message));
  }
  return findings;
}
