/**
 * The column `held` of the table `tasks`: what a pending task waits for.
 *
 * @module
 */

import type { WaitReason } from "../rules/waiting.ts";

/** The values of `held`. A task has passed every limit with a greater value than its own. */
export const WAIT_REASON = {
  none: 0,
  workspace: 1,
  group: 2,
  time: 3,
} as const satisfies Record<WaitReason, number>;

/** The reason of a stored value. */
export function toWaitReason(value: number): WaitReason {
  for (const reason of ["none", "workspace", "group", "time"] as const) {
    if (WAIT_REASON[reason] === value) return reason;
  }
  throw new TypeError(`No task waits for ${value}`);
}
