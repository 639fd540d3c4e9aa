/**
 * Records of refused requests, written behind the answer and bounded in rate and number: a flood of
 * bad signatures may not fill the disk nor slow down good ones (contract 3).
 *
 * @module
 */

import type { Log } from "../base/log.ts";
import type { Delivery, Store } from "../store/store.ts";

/** Most records written per flush; what is beyond is counted in the log. */
const MAX_PER_FLUSH = 100;
/** Time between two flushes. */
const FLUSH_MS = 250;
/** Rejections kept of each trigger. */
const KEPT_PER_TRIGGER = 1000;

/** Takes rejections and writes them now and then. */
export class Rejections implements AsyncDisposable {
  readonly #store: Store;
  readonly #log: Log;
  #waiting: Delivery[] = [];
  #dropped = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #flushing: Promise<void> = Promise.resolve();

  /** Writes to `store`. */
  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /** Takes one record; returns at once. */
  add(rejection: Delivery): void {
    if (this.#waiting.length < MAX_PER_FLUSH) this.#waiting.push(rejection);
    else this.#dropped++;
    this.#timer ??= setTimeout(() => this.#flushing = this.#flush(), FLUSH_MS);
  }

  /** Writes what waits. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer);
    await this.#flushing;
    await this.#flush();
  }

  async #flush(): Promise<void> {
    const batch = this.#waiting;
    const dropped = this.#dropped;
    this.#waiting = [];
    this.#dropped = 0;
    this.#timer = undefined;
    if (dropped > 0) this.#log.warn("refused requests without a record of their own", { dropped });
    if (batch.length === 0) return;
    await this.#store.recordRejections(batch, KEPT_PER_TRIGGER).catch((error) =>
      this.#log.warn("records of refused requests could not be written", { error })
    );
  }
}
