/**
 * The answers of a soak as the actors saw them: the accepted requests, with which the records are
 * compared at the end, the counts of events, and every answer that was wrong.
 *
 * @module
 */

/** An answer by which a request was accepted. */
export interface Promised {
  /** The mark in the header `x-soak` of the request; empty if there was no request. */
  readonly mark: string;
  readonly delivery: string;
  readonly tasks: readonly string[];
}

/** Most faults that are kept as text; further ones are only counted. */
const MOST_FAULTS = 50;

export class Journal {
  /** The accepted requests. */
  readonly promised: Promised[] = [];
  /** Marks of requests that were not accepted: none of them may have a task. */
  readonly withoutTask = new Set<string>();
  /** Answered source events of Slack, by Slack's ids. */
  readonly chat = new Map<string, string>();
  /** Ids of the tasks that retries made. */
  readonly retries: string[] = [];
  /** Faults, a sentence each. */
  readonly faults: string[] = [];
  readonly #counts = new Map<string, number>();
  #more = 0;

  /** Number of events by name. */
  get counts(): readonly (readonly [string, number])[] {
    return [...this.#counts].toSorted(([a], [b]) => a < b ? -1 : 1);
  }

  /** Counts an event. */
  count(what: string, times = 1): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + times);
  }

  /** Records a fault. */
  fault(text: string): void {
    if (this.faults.length < MOST_FAULTS) this.faults.push(text);
    else this.#more++;
  }

  /** Number of faults that were not kept as text. */
  get moreFaults(): number {
    return this.#more;
  }

  /** Records a fault if there are items, with the first of them. */
  none(what: string, found: readonly unknown[]): void {
    if (found.length === 0) return;
    const first = found.slice(0, 3).map((one) => JSON.stringify(one)).join(" ");
    this.fault(`${what}: ${found.length}, ${first}`);
  }
}
