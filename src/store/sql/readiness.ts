/**
 * The column `readiness` of the table `tasks`: whether a pending task is ready, queued or delayed.
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

/** The readiness of a stored value. */
export function toReadiness(value: number): Readiness {
  for (const readiness of ["ready", "queuedInWorkspace", "queuedInGroup", "delayed"] as const) {
    if (READINESS[readiness] === value) return readiness;
  }
  throw new TypeError(`No task has the readiness ${value}`);
}
