/**
 * The health conditions of the daemon. A part of it sets a condition when it fails, and clears it when
 * it works again; `svc status` shows the conditions as `degraded`.
 *
 * @module
 */

/** The present conditions, at most one for each part. */
export class HealthConditions {
  readonly #conditions = new Map<string, string>();

  /** Sets the condition of `part`, a sentence without a full stop. */
  set(part: string, sentence: string): void {
    this.#conditions.set(part, sentence);
  }

  /** Clears the condition of `part`, which works again. */
  clear(part: string): void {
    this.#conditions.delete(part);
  }

  /** The condition of `part`; `undefined` while it works. */
  find(part: string): string | undefined {
    return this.#conditions.get(part);
  }

  list(): readonly string[] {
    return [...this.#conditions.values()];
  }
}
