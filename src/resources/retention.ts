/**
 * `spec.retention` of a Trigger: how long its records and bodies are kept, where that differs from
 * the settings of the daemon.
 *
 * @module
 */

import Type from "typebox";
import { findDurationSecs, MAX_DURATION } from "../base/duration.ts";
import { errorAt, type Finding, warningAt } from "./resource.ts";
import { Duration } from "./timeout.ts";

/** Schema of `spec.retention`. */
export const Retention = Type.Object({
  tasks: Type.Optional(Duration),
  bodies: Type.Optional(Duration),
}, { additionalProperties: false });

/** `spec.retention` as written by the user. */
export type Retention = Type.Static<typeof Retention>;

/** Shortest time: a round of the retention that removes them comes once a minute at most. */
const LEAST_SECS = 60;
/** For so long a sender may repeat an event by itself. */
const REPEATED_SECS = 24 * 3600;
/**
 * For so long at most deliveries outlive their tasks, because duplicates are recognised by them: a
 * day more than a log of GitHub Enterprise reaches back.
 */
const RECOGNISED_SECS = 8 * 24 * 3600;

/** What a schema cannot check. */
export function checkRetention(retention: Retention | undefined): Finding[] {
  if (retention === undefined) return [];
  const secs = { tasks: secsOf(retention.tasks), bodies: secsOf(retention.bodies) };
  const findings = (["tasks", "bodies"] as const).flatMap((field) => {
    if ((secs[field] ?? LEAST_SECS) >= LEAST_SECS) return [];
    return [errorAt(
      ["spec", "retention", field],
      `A time to keep is from 1m to ${MAX_DURATION}, found "${retention[field]}": leave it out ` +
        "for the setting of the daemon",
    )];
  });
  if (findings.length > 0) return findings;
  return [
    ...((secs.tasks ?? REPEATED_SECS) >= REPEATED_SECS ? [] : [warningAt(
      ["spec", "retention", "tasks"],
      "An event that its sender repeats after this time starts another task: keep tasks for 24h, " +
        'and set "bodies" to have their content go earlier',
    )]),
    ...((secs.bodies ?? 0) < Math.max(secs.tasks ?? Infinity, RECOGNISED_SECS) ? [] : [warningAt(
      ["spec", "retention", "bodies"],
      'It has no effect: bodies go with the tasks and deliveries, after "tasks"',
    )]),
  ];
}

/** Seconds of a duration; absent where there is none, 0 for one that is too long. */
function secsOf(duration: string | number | undefined): number | undefined {
  return duration === undefined ? undefined : findDurationSecs(duration) ?? 0;
}
