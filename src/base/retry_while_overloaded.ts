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

/** How to go on trying. */
export interface Retrying {
  readonly clock: Clock;
  /** Aborts when the daemon is to stop. */
  readonly signal: AbortSignal;
  /** Receives the first error that is no "not now". */
  readonly onFault?: (error: unknown) => void;
}

/**
 * Tries until the store takes it, for as long as it says "not now" and the daemon is to go on.
 *
 * @throws Whatever else the store says.
 */
export function retryWhileOverloaded<T>(write: () => Promise<T>, retrying: Retrying): Promise<T> {
  return retryWhile(isNotNow, write, retrying);
}

/**
 * Tries until the store takes it or refuses it, whatever goes wrong meanwhile, for as long as the
 * daemon is to go on: nobody else knows what is to be stored here.
 *
 * @throws {AppError} when it is refused; any error once the daemon is to stop.
 */
export function retryUntilStored<T>(write: () => Promise<T>, retrying: Retrying): Promise<T> {
  return retryWhile((error) => !isRefusal(error), write, retrying);
}

async function retryWhile<T>(
  isWorthIt: (error: unknown) => boolean,
  write: () => Promise<T>,
  { clock, signal, onFault }: Retrying,
): Promise<T> {
  let isTold = false;
  for (let tries = 1, ms = 100;; tries++, ms = Math.min(ms * 2, MAX_PAUSE_MS)) {
    try {
      return await write();
    } catch (error) {
      const isEnough = tries >= MIN_TRIES;
      if (!isWorthIt(error) || (signal.aborted && isEnough)) throw error;
      if (!isTold && !isNotNow(error)) {
        isTold = true;
        onFault?.(error);
      }
      await (isEnough ? clock.pause(ms, signal) : clock.pause(ms));
    }
  }
}

const isNotNow = (error: unknown) => error instanceof AppError && error.code === "overloaded";

/** Whether the store has decided: it will say the same again. */
const isRefusal = (error: unknown) =>
  error instanceof AppError && error.code !== "overloaded" && error.code !== "internal";
