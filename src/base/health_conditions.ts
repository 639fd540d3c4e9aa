/**
 * What does not work just now. A part of the daemon sets its condition when it fails and clears it
 * when it works again; `svc status` shows them as `degraded`.
 *
 * @module
 */

/** What is wrong, at most one thing of each sort. */
export class HealthConditions {
  readonly #known = new Map<string, string>();

  /** Notes what is wrong with `what`, as a sentence without a full stop. */
  set(what: string, sentence: string): void {
    this.#known.set(what, sentence);
  }

  /** `what` works. */
  clear(what: string): void {
    this.#known.delete(what);
  }

  /** What is wrong with `what`; `undefined` when nothing is. */
  find(what: string): string | undefined {
    return this.#known.get(what);
  }

  /** One sentence each. */
  list(): readonly string[] {
    return [...this.#known.values()];
  }
}
