/**
 * A machine that is short of what a step needs to start, such as descriptors or room on its disk:
 * what was accepted waits for it, and `svc status` says for what.
 *
 * @module
 */

import { findNotNow } from "../../base/errors.ts";
import type { RunHost } from "./task_context.ts";

/** Name of the health condition. */
const TASKS = "tasks";
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

/** The pause after one of `beforeMs`. */
export function pauseAfter(beforeMs: number): number {
  return Math.min(Math.max(FIRST_PAUSE_MS, beforeMs * 2), LONGEST_PAUSE_MS);
}

/** Shows for what tasks wait. */
export function showShortage(why: string, { health }: Pick<RunHost, "health">): void {
  health.set(TASKS, `steps cannot start, so their tasks wait: ${why}`);
}

/** Shows that steps start. */
export function clearShortage({ health }: Pick<RunHost, "health">): void {
  health.clear(TASKS);
}

/**
 * Does `work` again, with pauses, for as long as the machine is short of something for it.
 *
 * @returns What it gives; `undefined` when `signal` has ended the waiting.
 * @throws Whatever else it throws; and what `isFinal` does not want tried again.
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
      showShortage(notNow.message, host);
      await host.clock.pause(ms, signal);
      if (signal.aborted) return undefined;
    }
  }
}
