/**
 * One thing after another where they share a name, side by side where they do not.
 *
 * @module
 */

/** Turns by name. */
export class KeyedTurns {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** Runs `work` when everything of that name that came before is over, whatever became of it. */
  inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
    const result = (this.#tails.get(key) ?? Promise.resolve()).then(work);
    const tail = result.catch(() => {}).then(() => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    });
    this.#tails.set(key, tail);
    return result;
  }
}
