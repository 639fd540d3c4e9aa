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
import type { Waiting } from "./waiting.ts";

/** Most steps of one task that run in parallel. */
const MAX_CONCURRENT_STEPS = 16;

/** How long a step that waits beside running ones waits before it is tried again. */
const TRY_AGAIN_MS = 2000;

/** A task of which only waiting steps are left. */
export interface Parked {
  /** When the first of them goes on by itself; absent where all wait for a turn. */
  readonly until?: number;
  /** The positions of those with an open wait. */
  readonly waits: readonly number[];
}

/**
 * Runs every step that can run; a step that `cancellation` keeps from starting stays pending. Gives what
 * the task waits for if it cannot go on before.
 */
export async function runFlow(
  context: TaskContext,
  cancellation: CancellationScope,
): Promise<Parked | undefined> {
  const { steps } = context.plan;
  const running = new Map<number, Promise<unknown>>();
  const waiting = new Map<number, Waiting & { readonly tryAt: number }>();
  const now = () => context.host.clock.monotonicMs();
  const start = (position: number) => {
    const step = steps[position];
    if (step === undefined || running.size >= MAX_CONCURRENT_STEPS) return;
    const work = runStep({ step, position }, context, cancellation)
      .then((result) => {
        if (result === undefined) waiting.delete(position);
        else waiting.set(position, { ...result, tryAt: now() + TRY_AGAIN_MS });
      })
      .finally(() => running.delete(position));
    running.set(position, work);
  };
  const canStart = (position: number) =>
    !running.has(position) && (waiting.get(position)?.tryAt ?? 0) <= now();
  try {
    for (;;) {
      if (cancellation.why === undefined) {
        const { ready, skip } = nextMoves(steps, context.steps.records.slice(0, steps.length));
        for (const { position, reason } of skip) recordSkipped(context, position, reason);
        if (skip.length > 0) continue; // other steps may be ready now
        if (ready.some(canStart)) {
          // No step starts before the store knows the end of those it needs.
          await context.steps.flush();
          ready.filter(canStart).forEach(start);
        }
      }
      if (running.size === 0) {
        const isParked = cancellation.why === undefined && waiting.size > 0;
        return isParked ? parked(waiting) : undefined;
      }
      await oneOf(running, waiting.size > 0 ? TRY_AGAIN_MS : undefined, context);
    }
  } catch (error) {
    // A bug, or the store failed: no other step of the task may go on without a record.
    cancellation.end("stop");
    await Promise.allSettled(running.values());
    throw error;
  }
}

/** Resolves when one of the steps has ended, or after a while. */
async function oneOf(
  running: ReadonlyMap<number, Promise<unknown>>,
  ms: number | undefined,
  { host: { clock } }: TaskContext,
): Promise<void> {
  const enough = new AbortController();
  const pause = ms === undefined ? [] : [clock.pause(ms, enough.signal)];
  try {
    await Promise.race([...running.values(), ...pause]);
  } finally {
    enough.abort();
  }
}

function parked(waiting: Iterable<readonly [position: number, Waiting]>): Parked {
  const all = [...waiting];
  const times = all.flatMap(([, { until }]) => until ?? []);
  const waits = all.filter(([, { openedAt }]) => openedAt !== undefined).map(([at]) => at);
  return times.length === 0 ? { waits } : { waits, until: Math.min(...times) };
}

/**
 * Runs the steps under `finally` one after the other. Only the end of the daemon interrupts them;
 * returns `false` then. Gives what the task waits for if one of them has to wait: a task that ends keeps
 * no worker either, which those before it may need to give up their turns.
 */
export async function runFinally(context: TaskContext): Promise<boolean | Parked> {
  const { plan, steps, signals } = context;
  using cancellation = new CancellationScope({ stop: signals.stop });
  for (const [index, step] of (plan.finally ?? []).entries()) {
    const position = plan.steps.length + index;
    const isDone = () => isOver(steps.records[position] ?? { state: "pending" });
    if (isDone()) continue;
    await steps.flush();
    const waiting = await runStep({ step, position, isFinally: true }, context, cancellation);
    if (waiting !== undefined) return signals.stop.aborted ? false : parked([[position, waiting]]);
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

/**
 * Cancels the steps that wait, that were cut off, or that ran in an earlier round: they have a record, and
 * will not run any more.
 */
export function cancelBegun(run: TaskRun): void {
  for (const record of run.steps.records.slice(0, run.plan.steps.length)) {
    if (isOver(record) || record.reason === "" && (record.round ?? 1) === 1) continue;
    run.steps.record({ ...record, state: "cancelled", reason: "cancelled" });
  }
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
