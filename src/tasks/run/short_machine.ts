/**
 * A machine that is short of something that a step needs to start, such as descriptors or disk space:
 * accepted tasks wait for it, and `svc status` shows what is missing.
 *
 * @module
 */

import { findNotNow } from "../../base/errors.ts";
import type { HealthConditions } from "../../base/health_conditions.ts";
import type { RunHost } from "./task_context.ts";

/** Name of the health condition. */
const TASKS = "tasks";
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

/** The pause that follows a pause of `beforeMs`. */
export function pauseAfter(beforeMs: number): number {
  return Math.min(Math.max(FIRST_PAUSE_MS, beforeMs * 2), LONGEST_PAUSE_MS);
}

/** Shows in `svc status` that tasks wait, and for what. */
export function showShortage(why: string, health: HealthConditions): void {
  health.set(TASKS, `steps cannot start, so their tasks wait: ${why}`);
}

/** Shows in `svc status` that steps can start. */
export function clearShortage(health: HealthConditions): void {
  health.clear(TASKS);
}

/**
 * Repeats `work`, with pauses, as long as the machine is short of something that it needs.
 *
 * @returns The result of `work`; `undefined` when `signal` aborted during a pause.
 * @throws Any other error of `work`, and a shortage for which `isFinal` returns `true`.
 */
export async function whenMachineCan<T>(
  work: () => Promise<T>,
  host: Pick<RunHost, "clock" | "health">,
  { signal, isFinal = () => false }: {
    readonly signal: AbortSignal;
    readonly isFinal?: () => boolean;
  },
): Promise<T | undefined> {
  for (let ms = pauseAfter(0);; ms = pauseAfter(ms)) {
    try {
      return await work();
    } catch (error) {
      const notNow = findNotNow(error);
      if (notNow === undefined || isFinal()) throw error;
      showShortage(notNow.message, host.health);
      await host.clock.pause(ms, signal);
      if (signal.aborted) return undefined;
    }
  }
}
