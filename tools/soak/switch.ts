/**
 * Something of the installation that is changed while others depend on it. They look before and
 * after what they do: only what held all along can be insisted on.
 *
 * @module
 */

/** One thing that changes. */
export class Switch<T> {
  #value: T | undefined;
  #version = 0;

  constructor(value: T) {
    this.#value = value;
  }

  /** Changes it with `act`, which gives whether that went well; until it does, nobody knows. */
  async change(value: T, act: () => Promise<boolean>): Promise<boolean> {
    this.#value = undefined;
    this.#version++;
    if (!await act()) return false;
    this.#value = value;
    return true;
  }

  /** The value if it is known, else `undefined`. */
  get value(): T | undefined {
    return this.#value;
  }

  /** Begins to watch; what it gives says the value if that was known and the same all along. */
  watch(): () => T | undefined {
    const [value, version] = [this.#value, this.#version];
    return () => version === this.#version ? value : undefined;
  }
}
