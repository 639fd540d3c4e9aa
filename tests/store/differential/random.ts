/**
 * Numbers that look random and are the same for the same seed.
 *
 * @module
 */

/** A sequence of choices. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** A number from 0 up to, not including, `end` (mulberry32). */
  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let bits = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return Math.floor(((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32 * end);
  }

  /** `true` once in `times`. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }

  /** One of them. */
  pick<const T>(from: readonly [T, ...T[]]): T {
    return from[this.below(from.length)] ?? from[0];
  }

  /** One of them, the later ones more often; `fallback` where there is none. */
  recent<T>(from: readonly T[], fallback: T): T {
    const back = Math.min(this.below(from.length), this.below(from.length));
    return from[from.length - 1 - back] ?? fallback;
  }

  /** `{[name]: value}` once in `times`, else an empty object to spread. */
  maybe<Name extends string, T>(times: number, name: Name, value: () => T): { [K in Name]?: T } {
    return this.once(times) ? { [name]: value() } as { [K in Name]?: T } : {};
  }
}
