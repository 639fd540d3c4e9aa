/**
 * Runs the steps of a task in the order of their needs, in parallel where they do not need each
 * other, until all have ended or the task is ended early.
 *
 * @module
 */

import { CancellationScope } from "../cancellation_scope.ts";
import { isOver, neverRan, nextMoves, OUT_OF_TIME } from "./flow.ts";
import { runStep } from "./run_step.ts";
import type { TaskContext, TaskRun } from "./task_context.ts";

/** Most steps of one task that run in parallel. */
const MAX_CONCURRENT_STEPS = 16;

/** Runs every step that can run; a step that `cancellation` keeps from starting stays pending. */
export async function runFlow(
  context: TaskContext,
  cancellation: CancellationScope,
): Promise<void> {
  const { steps } = context.plan;
  const running = new Map<number, Promise<void>>();
  const start = (position: number) => {
    const step = steps[position];
    if (step === undefined || running.has(position) || running.size >= MAX_CONCURRENT_STEPS) return;
    const work = runStep({ step, position }, context, cancellation)
      .finally(() => running.delete(position));
    running.set(position, work);
  };
  try {
    for (;;) {
      if (cancellation.why === undefined) {
        const { ready, skip } = nextMoves(steps, context.steps.records.slice(0, steps.length));
        for (const { position, reason } of skip) recordSkipped(context, position, reason);
        if (skip.length > 0) continue; // other steps may be ready now
        if (ready.some((position) => !running.has(position))) {
          // No step starts before the store knows the end of those it needs.
          await context.steps.flush();
          ready.forEach(start);
        }
      }
      if (running.size === 0) return;
      await Promise.race(running.values());
    }
  } catch (error) {
    // A bug, or the store failed: no other step of the task may go on without a record.
    cancellation.end("stop");
    await Promise.allSettled(running.values());
    throw error;
  }
}

/**
 * Runs the steps under `finally` one after the other. Only the end of the daemon interrupts them;
 * returns `false` then.
 */
export async function runFinally(context: TaskContext): Promise<boolean> {
  const { plan, steps, signals } = context;
  using cancellation = new CancellationScope({ stop: signals.stop });
  for (const [index, step] of (plan.finally ?? []).entries()) {
    const position = plan.steps.length + index;
    const isDone = () => isOver(steps.records[position] ?? { state: "pending" });
    if (isDone()) continue;
    await steps.flush();
    await runStep({ step, position, isFinally: true }, context, cancellation);
    if (!isDone()) return false;
  }
  return true;
}

/** Skips the steps that the task had no time for, so that they do not start after a restart. */
export function skipForTime(run: TaskRun): void {
  skipRest(run, OUT_OF_TIME);
}

/** Skips the steps of a task that cannot run, so that they do not start after a restart. */
export function skipForever(run: TaskRun, why: string): void {
  skipRest(run, neverRan(why));
}

function skipRest(run: TaskRun, reason: string): void {
  for (const record of run.steps.records.slice(0, run.plan.steps.length)) {
    if (!isOver(record)) recordSkipped(run, record.position, reason);
  }
}

function recordSkipped(context: TaskRun, position: number, reason: string): void {
  const id = context.plan.steps[position]?.id ?? "";
  context.steps.record({ position, id, state: "skipped", reason });
}
