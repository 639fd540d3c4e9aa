/**
 * A mutex with keys: work with the same key runs one after the other, other work in parallel.
 *
 * @module
 */

import { AppError } from "./errors.ts";

/** Runs work in turns, a queue for each key. */
export class KeyedMutex {
  readonly #tails = new Map<string, Promise<void>>();

  /**
   * Runs `work` when all earlier work of the same key has ended, also with an error. An aborted `signal`
   * removes this call from the queue; later calls still wait for the earlier ones.
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

/** Resolves when `turn` does; throws as soon as `signal` aborts. */
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
