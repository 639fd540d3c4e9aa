/**
 * Disposes several parts in parallel, where a stack disposes one after the other: each may wait some
 * seconds for its work, and all of them have to end within the time that a service manager allows.
 *
 * @module
 */

/** Parts that are disposed in parallel, beginning with the newest. */
export class ParallelDisposer implements AsyncDisposable {
  readonly #parts: AsyncDisposable[] = [];

  /** Adds a part, and returns it. */
  use<Part extends AsyncDisposable>(part: Part): Part {
    this.#parts.push(part);
    return part;
  }

  /**
   * Resolves when all parts have ended, even if one of them has failed.
   *
   * @throws The error of a part that could not be disposed.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    const ends = this.#parts.toReversed().map((part) => part[Symbol.asyncDispose]());
    await Promise.allSettled(ends);
    await Promise.all(ends);
  }
}
