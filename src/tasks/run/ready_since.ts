/**
 * When a step could start.
 *
 * @module
 */

import { needsOf } from "../../resources/step_graph.ts";
import type { PositionedStep } from "./prepare_attempt.ts";
import type { TaskContext } from "./task_context.ts";

/**
 * When a step that has never run could have started, by the clock that stored the records: a restart changes
 * nothing about it, so its time to wait for a limit does not begin anew each time it asks, and it misses no
 * event that came while no daemon ran. Nothing tells when a later round began; a step of which no step that it
 * needs has run in it could have started now.
 */
export function readySince({ step, position }: PositionedStep, context: TaskContext): number {
  const { plan, steps: { records }, claimed: { task }, host: { clock } } = context;
  const needs = new Set(needsOf(plan.steps, position));
  const ends = records.flatMap(({ id, finishedAt }) => needs.has(id) ? finishedAt ?? [] : []);
  if (context.steps.roundOf(position) > 1) {
    return ends.length === 0 ? clock.now() : Math.max(...ends);
  }
  const block = records.flatMap(({ id, startedAt }) => id === step.within ? startedAt ?? [] : []);
  return Math.max(task.startedAt ?? clock.now(), ...block, ...ends);
}
