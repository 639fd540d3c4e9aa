/**
 * Limits how many processes run at once: a thousand spawns together take seconds and use up the
 * descriptors. A run that finds the queue full is refused as overload.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";

/** Limits of a semaphore. */
export interface SemaphoreLimits {
  /** Most that run at once. */
  readonly running: number;
  /** Most that wait. */
  readonly waiting: number;
}

/** Limits how much of something costly runs at once. */
export class Semaphore {
  readonly #limits: SemaphoreLimits;
  readonly #waiting: (() => void)[] = [];
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

  /**
   * Runs `work` when there is room.
   *
   * @throws {AppError} `overloaded` when too many wait already.
   */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#limits.running) {
      if (this.#waiting.length >= this.#limits.waiting) {
        throw new AppError("overloaded", "Too many plugins are running");
      }
      // the ended run hands its room over
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#running++;
    }
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}
