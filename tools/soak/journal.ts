/**
 * What was answered during a soak, from the side of those who asked: the promises that the records
 * are held against at the end, how often what happened, and every answer that should not have been
 * given.
 *
 * @module
 */

/** An answer that promised a task. */
export interface Promised {
  /** Mark of the request, as it stood in `x-soak`; empty where it was no request. */
  readonly mark: string;
  readonly delivery: string;
  readonly tasks: readonly string[];
}

/** Most faults that are kept in words; the rest is counted. */
const MOST_FAULTS = 50;

/** Takes down what happens. */
export class Journal {
  /** Answers 2xx `accepted`. */
  readonly promised: Promised[] = [];
  /** Marks of requests that were refused, or decided against: none of them may have a task. */
  readonly withoutTask = new Set<string>();
  /** Source events of Slack that were answered, by the id Slack gave them. */
  readonly chat = new Map<string, string>();
  /** Retries that were made with `svc task retry`. */
  readonly retries: string[] = [];
  /** What did not go as it has to. */
  readonly faults: string[] = [];
  readonly #counts = new Map<string, number>();
  #more = 0;

  /** How often what happened, by name. */
  get counts(): readonly (readonly [string, number])[] {
    return [...this.#counts].toSorted(([a], [b]) => a < b ? -1 : 1);
  }

  /** One more of these. */
  count(what: string, times = 1): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + times);
  }

  /** Something is not as it has to be. */
  fault(text: string): void {
    if (this.faults.length < MOST_FAULTS) this.faults.push(text);
    else this.#more++;
  }

  /** Faults beyond those that were kept in words. */
  get moreFaults(): number {
    return this.#more;
  }

  /** Says so if these are any, with the first of them. */
  none(what: string, found: readonly unknown[]): void {
    if (found.length === 0) return;
    const first = found.slice(0, 3).map((one) => JSON.stringify(one)).join(" ");
    this.fault(`${what}: ${found.length}, ${first}`);
  }
}
