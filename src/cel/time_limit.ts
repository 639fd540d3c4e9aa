/**
 * The time that the loops of an expression may take. They look at the clock themselves, because
 * nothing else can stop one: ending a Worker ends it only when it waits (Deno 2.7 and 2.9), and one
 * that is in a loop would go on for ever on a processor of its own.
 *
 * @module
 */

import { type CelFunc, celFunc, CelScalar } from "@bufbuild/cel";
import { systemClock } from "../base/clock.ts";

/** Name of {@linkcode IN_TIME}, which no expression can write. */
export const IN_TIME_NAME = "@in_time";

let until = Infinity;
let isOver = false;

/** Begins an evaluation that may take `ms`; evaluations never overlap, as none can wait. */
export function allowTime(ms: number): void {
  until = systemClock.monotonicMs() + ms;
  isOver = false;
}

/** Whether a loop of this evaluation was ended for its time. */
export function ranOutOfTime(): boolean {
  return isOver;
}

/** Hands on what it is given while there is time. An error ends a loop, and so those around it. */
export const IN_TIME: CelFunc = celFunc(IN_TIME_NAME, [CelScalar.DYN], CelScalar.DYN, (value) => {
  isOver ||= systemClock.monotonicMs() > until;
  if (isOver) throw new Error("took too long");
  return value;
});
