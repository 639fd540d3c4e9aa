/**
 * Watches what an API answers a step: whether it gives nothing but that a limit is reached. Some agents
 * try on for minutes then, and each of them holds a worker meanwhile.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import type { Limit } from "../../egress/limit.ts";

/** How long an agent may try on at a limit. Most have given up by then. */
const PATIENCE_MS = 60_000;

/** The limit of one step. */
export class LimitWatch implements Disposable {
  readonly #clock: Clock;
  readonly #ended = new AbortController();
  #limit: Limit | undefined;
  #seen: Limit | undefined;
  #timer: Disposable | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The limit of the last answer; `undefined` if that was a good one, or there was none. */
  get limit(): Limit | undefined {
    return this.#limit;
  }

  /** The newest limit of all. */
  get seen(): Limit | undefined {
    return this.#seen;
  }

  /** Aborts when there was no other answer for a minute. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** Takes an answer. */
  hear(limit: Limit | undefined): void {
    this.#limit = limit;
    this.#seen = limit ?? this.#seen;
    if (limit === undefined) {
      this[Symbol.dispose]();
    } else {
      this.#timer ??= this.#clock.after(PATIENCE_MS, () => this.#ended.abort());
    }
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }
}
