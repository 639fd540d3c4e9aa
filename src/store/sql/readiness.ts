/**
 * The column `readiness` of the table `tasks`: whether a pending task is ready, queued, delayed or waiting.
 *
 * @module
 */

import type { Readiness } from "../rules/readiness.ts";

/** The values of `readiness`. A task has passed every limit with a greater value than its own. */
export const READINESS = {
  waiting: -1,
  ready: 0,
  queuedInWorkspace: 1,
  queuedInGroup: 2,
  delayed: 3,
} as const satisfies Record<Readiness, number>;

const BY_VALUE = new Map(
  (Object.keys(READINESS) as Readiness[]).map((readiness) => [READINESS[readiness], readiness]),
) as ReadonlyMap<number, Readiness>;

/** The readiness of a stored value. */
export function toReadiness(value: number): Readiness {
  const readiness = BY_VALUE.get(value);
  if (readiness === undefined) throw new TypeError(`No task has the readiness ${value}`);
  return readiness;
}
