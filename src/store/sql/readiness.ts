/**
 * The column `readiness` of the table `tasks`: whether a pending task is ready, queued or delayed, and
 * which room a waiting one keeps; and the conditions on tasks that have indexes of their own.
 *
 * @module
 */

import type { Readiness } from "../rules/readiness.ts";

/** The values of `readiness`. A task has passed every limit with a greater value than its own. */
export const READINESS = {
  ready: 0,
  queuedInWorkspace: 1,
  queuedInGroup: 2,
  delayed: 3,
} as const satisfies Record<Readiness, number>;

const BY_VALUE = new Map(
  (Object.keys(READINESS) as Readiness[]).map((readiness) => [READINESS[readiness], readiness]),
) as ReadonlyMap<number, Readiness>;

/** Tasks that have not ended, as the index of groups has it. */
export const UNFINISHED = "state IN ('pending', 'running', 'waiting')";

/** Tasks that have not ended and are queued for room in their workspace, or occupy it, as its index has it. */
export const IN_WORKSPACE =
  "(state IN ('pending', 'running') OR state = 'waiting' AND readiness = 0)";

/** Tasks that go on at a time: delayed ones, and waiting ones if they have a time, as their index has it. */
export const TIMED = "(state = 'waiting' OR state = 'pending' AND readiness = 3)";

/** The readiness of a stored value. */
export function toReadiness(value: number): Readiness {
  const readiness = BY_VALUE.get(value);
  if (readiness === undefined) throw new TypeError(`No task has the readiness ${value}`);
  return readiness;
}
