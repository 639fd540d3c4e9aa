/**
 * `spec.retention` of a Trigger: how long its records and bodies are kept, if not as long as the
 * settings of the daemon say.
 *
 * @module
 */

import Type from "typebox";
import { findDurationSecs, MAX_DURATION } from "../base/duration.ts";
import { errorAt, type Finding, warningAt } from "./resource.ts";
import { Duration } from "./timeout.ts";

export const Retention = Type.Object({
  tasks: Type.Optional(Duration),
  bodies: Type.Optional(Duration),
}, { additionalProperties: false });

/** `spec.retention` as written by the user. */
export type Retention = Type.Static<typeof Retention>;

/** Shortest time: the round that removes records comes at most once a minute. */
const LEAST_SECS = 60;
/** Time for which a sender may repeat an event by itself. */
const REPEATED_SECS = 24 * 3600;
/**
 * Most time that deliveries outlive their tasks, because duplicates are recognised by them: a day
 * more than the log of GitHub Enterprise reaches back.
 */
const RECOGNISED_SECS = 8 * 24 * 3600;

/** Checks of the block that a schema cannot express. */
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
