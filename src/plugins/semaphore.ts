/**
 * Lets only so many processes run at once: a thousand spawns together take seconds and use up the
 * descriptors. A run that finds the queue full is refused as overload.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";

/** How much a gate lets through. */
export interface GateLimits {
  /** Most at once. */
  readonly running: number;
  /** Most that wait. */
  readonly waiting: number;
}

/** A gate before something costly. */
export class Semaphore {
  readonly #limits: GateLimits;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  /** A gate with these limits. */
  constructor(limits: GateLimits) {
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
      await new Promise<void>((resolve) => this.#waiting.push(resolve)); // the place is handed over
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
