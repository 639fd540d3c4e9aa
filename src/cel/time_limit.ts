/**
 * The time limit of loops in expressions. The loops check the clock themselves, because nothing
 * else can stop them: a Worker that is terminated ends only when it waits (Deno 2.7 and 2.9), and
 * one in a loop would occupy a processor for ever.
 *
 * @module
 */

import { type CelFunc, celFunc, CelScalar } from "@bufbuild/cel";
import { systemClock } from "../base/clock.ts";

/** Name of {@linkcode IN_TIME}, which no expression can write. */
export const IN_TIME_NAME = "@in_time";

let until = Infinity;
let isOver = false;

/** Starts the time of an evaluation, `ms`; evaluations are synchronous and never overlap. */
export function allowTime(ms: number): void {
  until = systemClock.monotonicMs() + ms;
  isOver = false;
}

/** Whether a loop of this evaluation was ended by the limit. */
export function ranOutOfTime(): boolean {
  return isOver;
}

/** Returns its argument while there is time. Its error ends the loop and those around it. */
export const IN_TIME: CelFunc = celFunc(IN_TIME_NAME, [CelScalar.DYN], CelScalar.DYN, (value) => {
  isOver ||= systemClock.monotonicMs() > until;
  if (isOver) throw new Error("took too long");
  return value;
});
