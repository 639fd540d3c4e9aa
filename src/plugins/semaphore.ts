/**
 * Limits how many processes run at once: a thousand spawns together take seconds and use up the
 * descriptors. A run that finds the queue full is refused as overload.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";

/** Limits of a semaphore. */
export interface SemaphoreLimits {
  /** Most runs at once. */
  readonly running: number;
  /** Most runs that wait. */
  readonly waiting: number;
}

/** Limits how much of something costly runs at once. */
export class Semaphore {
  readonly #limits: SemaphoreLimits;
  readonly #waiting: (() => void)[] = [];
  readonly #onLeave: (() => void)[] = [];
  #running = 0;

  constructor(limits: SemaphoreLimits) {
    this.#limits = limits;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Resolves when nothing runs any more. */
  async idle(): Promise<void> {
    while (this.#running > 0) await new Promise<void>((resolve) => this.#onLeave.push(resolve));
  }

  /**
   * Runs `work` when there is room. A promise that it passes to `keepRoomFor` keeps the room until
   * the promise has settled, also after `work` has its result.
   *
   * @throws {AppError} `overloaded` when too many wait already.
   */
  async run<T>(work: (keepRoomFor: (rest: Promise<void>) => void) => Promise<T>): Promise<T> {
    if (this.#running >= this.#limits.running) {
      if (this.#waiting.length >= this.#limits.waiting) {
        const { running, waiting } = this.#limits;
        throw new AppError(
          "overloaded",
          `Too many plugins are running: ${running} run and ${waiting} wait, the limit`,
        );
      }
      // the ended run hands its room over
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#running++;
    }
    let rest: Promise<void> | undefined;
    try {
      return await work((promise) => rest = promise);
    } finally {
      if (rest === undefined) this.#leave();
      else rest.catch(() => {}).finally(() => this.#leave());
    }
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next !== undefined) return next();
    this.#running--;
    for (const resolve of this.#onLeave.splice(0)) resolve();
  }
}
