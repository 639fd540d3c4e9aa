/**
 * Chance with a seed: the same seed gives the same choices in the same order.
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

  /** A whole number from 0 up to, not including, `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end);
  }

  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  /** `true` in `part` (0 to 1) of all cases. */
  chance(part: number): boolean {
    return this.next() < part;
  }

  /** `true` once in `times`. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }

  /** One item of a list that is not empty. */
  pick<const T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error("There is nothing to pick from");
    return item;
  }

  /** One item, the later ones more often; `fallback` where there is none. */
  recent<T>(items: readonly T[], fallback: T): T {
    const back = Math.min(this.below(items.length), this.below(items.length));
    return items[items.length - 1 - back] ?? fallback;
  }

  /** `{[name]: value}` once in `times`, else an empty object to spread. */
  maybe<Name extends string, T>(times: number, name: Name, value: () => T): { [K in Name]?: T } {
    return this.once(times) ? { [name]: value() } as { [K in Name]?: T } : {};
  }

  /** A source of its own for another actor. */
  fork(): Random {
    return new Random(Math.floor(this.next() * 2 ** 32));
  }
}
