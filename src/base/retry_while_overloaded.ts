/**
 * Repeats writes to the store that must not be lost: they record what processes have done already.
 *
 * @module
 */

import type { Clock } from "./clock.ts";
import { AppError } from "./errors.ts";

/** Longest pause between two tries, in milliseconds. */
const MAX_PAUSE_MS = 5000;
/** Number of tries that are made even if the daemon stops. */
const MIN_TRIES = 3;

/** The end of the repetitions, and the receiver of errors. */
export interface RetryOptions {
  readonly clock: Clock;
  /** Aborts when the daemon stops. */
  readonly signal: AbortSignal;
  /** Receives the first error other than `overloaded`. */
  readonly onFault?: (error: unknown) => void;
}

/**
 * Repeats `write` while the store is `overloaded`, until the daemon stops.
 *
 * @throws Any other error of the store.
 */
export function retryWhileOverloaded<T>(
  write: () => Promise<T>,
  options: RetryOptions,
): Promise<T> {
  return retryWhile(isNotNow, write, options);
}

/**
 * Repeats `write` after any error, until the store takes it, refuses it, or the daemon stops.
 *
 * @throws {AppError} when the store refuses it; any error when the daemon stops.
 */
export function retryUntilStored<T>(write: () => Promise<T>, options: RetryOptions): Promise<T> {
  return retryWhile((error) => !isRefusal(error), write, options);
}

async function retryWhile<T>(
  isWorthIt: (error: unknown) => boolean,
  write: () => Promise<T>,
  { clock, signal, onFault }: RetryOptions,
): Promise<T> {
  let isReported = false;
  for (let tries = 1, ms = 100;; tries++, ms = Math.min(ms * 2, MAX_PAUSE_MS)) {
    try {
      return await write();
    } catch (error) {
      const isEnough = tries >= MIN_TRIES;
      if (!isWorthIt(error) || (signal.aborted && isEnough)) throw error;
      if (!isReported && !isNotNow(error)) {
        isReported = true;
        onFault?.(error);
      }
      await (isEnough ? clock.pause(ms, signal) : clock.pause(ms));
    }
  }
}

const isNotNow = (error: unknown) => error instanceof AppError && error.code === "overloaded";

/** Whether the store has refused a write: it would refuse it again. */
const isRefusal = (error: unknown) =>
  error instanceof AppError && error.code !== "overloaded" && error.code !== "internal";
