/**
 * Writes that have to happen: what a process has done is done, whether or not the disk takes it
 * now.
 *
 * @module
 */

import type { Clock } from "./clock.ts";
import { AppError } from "./errors.ts";

/** Longest pause between two tries. */
const MAX_PAUSE_MS = 5000;
/** Tries that are made at least, also when the daemon is to stop. */
const MIN_TRIES = 3;

/**
 * Tries until the store takes it, for as long as it says "not now" and the daemon is to go on.
 *
 * @throws Whatever else the store says.
 */
export async function retryWhileOverloaded<T>(
  write: () => Promise<T>,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<T> {
  for (let tries = 1, ms = 100;; tries++, ms = Math.min(ms * 2, MAX_PAUSE_MS)) {
    try {
      return await write();
    } catch (error) {
      const later = error instanceof AppError && error.code === "overloaded";
      if (!later || (signal.aborted && tries >= MIN_TRIES)) throw error;
      await clock.pause(ms);
    }
  }
}
