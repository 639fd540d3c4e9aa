/**
 * Ends several things side by side, where a stack would end one after the other: each may wait some
 * seconds for work under way, and all together have to be done within the time a service manager
 * gives.
 *
 * @module
 */

/** What is disposed side by side; the newest is told first. */
export class ParallelDisposer implements AsyncDisposable {
  readonly #parts: AsyncDisposable[] = [];

  /** Takes over a part, and gives it back. */
  use<Part extends AsyncDisposable>(part: Part): Part {
    this.#parts.push(part);
    return part;
  }

  /**
   * Resolves when every part has ended, also those beside one that failed.
   *
   * @throws The error of a part that could not be disposed.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    const ends = this.#parts.toReversed().map((part) => part[Symbol.asyncDispose]());
    await Promise.allSettled(ends);
    await Promise.all(ends);
  }
}
