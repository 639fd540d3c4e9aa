/**
 * How long one attempt at a step may take: its own limit, that of its agent, or that of a `finally`
 * step without one. Pure.
 *
 * @module
 */

import type { PlannedStep } from "../plan.ts";

/** Limit of a `finally` step that has none: whatever happened, the task comes to an end. */
const FINALLY_TIMEOUT_SECS = 300;

/** A time limit as written, and whose it is. */
export interface StepLimit {
  readonly time: string | number;
  /** In words, for the reason of a step that it ended. */
  readonly whose: string;
}

/** The limit of each attempt at a step; `undefined` where only the task's own holds. */
export function limitOf(
  { timeout, agent }: Pick<PlannedStep, "timeout" | "agent">,
  isFinally: boolean,
): StepLimit | undefined {
  if (timeout !== undefined) return { time: timeout, whose: "the step's timeout" };
  if (agent?.timeout !== undefined) {
    return { time: agent.timeout, whose: `the timeout of Agent "${agent.name}"` };
  }
  if (!isFinally) return undefined;
  return { time: FINALLY_TIMEOUT_SECS, whose: 'the limit of a "finally" step without a timeout' };
}
