/**
 * Chance with a seed: the same seed gives every actor of a soak the same choices in the same order.
 * When they meet, the machine decides.
 *
 * @module
 */

/** A source of choices (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** At least 0, below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  /** True in `part` (0 to 1) of all cases. */
  chance(part: number): boolean {
    return this.next() < part;
  }

  /** One of them; there has to be one. */
  pick<T>(items: readonly T[]): T {
    const item = items[this.between(0, items.length - 1)];
    if (item === undefined) throw new Error("There is nothing to pick from");
    return item;
  }

  /** A source of its own for somebody else. */
  fork(): Random {
    return new Random(Math.floor(this.next() * 2 ** 32));
  }
}
