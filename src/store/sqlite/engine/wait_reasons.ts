/**
 * The column `held` of the table `tasks`: what a pending task waits for.
 *
 * @module
 */

import type { WaitReason } from "../../rules/waiting.ts";

/** The values of `held`. A task has passed what has a greater value than its own. */
export const WAIT_REASON = {
  none: 0,
  workspace: 1,
  group: 2,
  time: 3,
} as const satisfies Record<WaitReason, number>;

/** The reason that a stored value stands for. */
export function toWaitReason(held: number): WaitReason {
  for (const reason of ["none", "workspace", "group", "time"] as const) {
    if (WAIT_REASON[reason] === held) return reason;
  }
  throw new TypeError(`No task waits for ${held}`);
}
