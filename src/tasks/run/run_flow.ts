/**
 * Runs the steps of a task in the order of their needs, side by side where they need not wait for
 * each other, until all are over or something ends them.
 *
 * @module
 */

import type { CancellationScope } from "../cancellation_scope.ts";
import { isOver, nextMoves, OUT_OF_TIME } from "./flow.ts";
import { runStep } from "./run_step.ts";
import type { TaskRun } from "./task_run.ts";

/** Most steps of one task at once. */
const MAX_CONCURRENT_STEPS = 16;

/** Runs every step that can run; what `cancellation` ended before it started is left as it is. */
export async function runFlow(run: TaskRun, cancellation: CancellationScope): Promise<void> {
  const { steps } = run.parts.plan;
  const running = new Map<number, Promise<void>>();
  const start = (position: number) => {
    const step = steps[position];
    if (step === undefined || running.has(position) || running.size >= MAX_CONCURRENT_STEPS) return;
    const work = runStep({ step, position }, run, cancellation)
      .finally(() => running.delete(position));
    running.set(position, work);
  };
  try {
    for (;;) {
      if (cancellation.why === undefined) {
        const { ready, skip } = nextMoves(steps, run.records.slice(0, steps.length));
        for (const { position, reason } of skip) recordSkipped(run, position, reason);
        if (skip.length > 0) continue; // others may be ready now
        if (ready.some((position) => !running.has(position))) {
          await run.steps.flush(); // no step starts before the store knows the end of those it needs
          ready.forEach(start);
        }
      }
      if (running.size === 0) return;
      await Promise.race(running.values());
    }
  } catch (error) {
    cancellation.end("stop"); // a bug, or no store: nothing of the task shall go on by itself
    await Promise.allSettled(running.values());
    throw error;
  }
}

/** Notes what a task had no time for, so that it does not start after a restart. */
export function skipForTime(run: TaskRun): void {
  const { steps } = run.parts.plan;
  for (const record of run.records.slice(0, steps.length)) {
    if (!isOver(record)) recordSkipped(run, record.position, OUT_OF_TIME);
  }
}

function recordSkipped(run: TaskRun, position: number, reason: string): void {
  const id = run.parts.plan.steps[position]?.id ?? "";
  run.steps.record({ position, id, state: "skipped", reason });
}
