/**
 * One thing after another where they share a name, side by side where they do not.
 *
 * @module
 */

import { AppError } from "./errors.ts";

/** Turns by name. */
export class KeyedMutex {
  readonly #tails = new Map<string, Promise<void>>();

  /**
   * Runs `work` when all earlier work of the same key has ended, however it ended. An aborted
   * `signal` takes this call out of the queue; the calls behind it still wait for those before it.
   *
   * @throws {AppError} `invalid` when `signal` aborts before its turn has come; and what `work`
   * throws.
   */
  async run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    const tail: Promise<void> = before.then(() => over).then(() => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    });
    this.#tails.set(key, tail);
    try {
      await reached(before, signal);
      return await work();
    } finally {
      end();
    }
  }
}

/** Resolves with `turn`, or throws as soon as `signal` aborts. */
async function reached(turn: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  const onAbort = () => resolve();
  signal?.addEventListener("abort", onAbort);
  if (signal?.aborted !== true) await Promise.race([turn, aborted]);
  signal?.removeEventListener("abort", onAbort);
  if (signal?.aborted === true) {
    throw new AppError("invalid", "it was ended while it waited for its turn");
  }
}
