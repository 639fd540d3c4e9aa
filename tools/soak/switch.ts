/**
 * A setting of the installation that changes while actors depend on it. An actor reads it before
 * and after an action: it can expect the effect of a value only if the value held all the time.
 *
 * @module
 */

/** A setting with a known value, or an unknown one during a change. */
export class Switch<T> {
  #value: T | undefined;
  #version = 0;

  constructor(value: T) {
    this.#value = value;
  }

  /**
   * Changes the value with `act`, which resolves to whether it succeeded; the value is unknown
   * until then.
   */
  async change(value: T, act: () => Promise<boolean>): Promise<boolean> {
    this.#value = undefined;
    this.#version++;
    if (!await act()) return false;
    this.#value = value;
    return true;
  }

  /** The value; `undefined` during a change. */
  get value(): T | undefined {
    return this.#value;
  }

  /** Returns a function that gives the value if it was known and has not changed since. */
  watch(): () => T | undefined {
    const [value, version] = [this.#value, this.#version];
    return () => version === this.#version ? value : undefined;
  }
}
