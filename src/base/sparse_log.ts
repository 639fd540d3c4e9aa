/**
 * Warnings that others can cause as often as they like: each is written at once, then at most once a
 * minute with how often it came, so that no flood of anything becomes a flood of lines.
 *
 * ```ts
 * import { SparseLog } from "./sparse_log.ts";
 * import { systemClock } from "./clock.ts";
 * import { deepStrictEqual as equal } from "node:assert/strict";
 *
 * const lines: unknown[] = [];
 * const write = (message: string, facts = {}) => void lines.push([message, facts]);
 * const log = { debug: write, info: write, warn: write, error: write };
 * {
 *   using sparse = new SparseLog({ log, clock: systemClock });
 *   for (const n of [1, 2, 3]) sparse.warn("too much", { n });
 * }
 * equal(lines, [["too much", { n: 1, count: 1 }], ["too much", { n: 3, count: 2 }]]);
 * ```
 *
 * @module
 */

import type { Clock } from "./clock.ts";
import type { Log, LogFields } from "./log.ts";

/** Least time between two lines of one key. */
const EVERY_MS = 60_000;

/** A warning that was written lately. */
interface Written {
  readonly message: string;
  /** How often it has come since. */
  count: number;
  /** Facts of the last time. */
  facts: LogFields;
  timer: Disposable;
}

/** Writes warnings, each at most once a minute. */
export class SparseLog implements Disposable {
  readonly #host: { readonly log: Log; readonly clock: Clock };
  readonly #written = new Map<string, Written>();

  constructor(host: { readonly log: Log; readonly clock: Clock }) {
    this.#host = host;
  }

  /**
   * Writes a warning with `count`, or only counts it where one of its key was written less than a minute
   * ago: the next line then has the count, and the facts of the last time.
   *
   * @param options.key What is written apart; the message when absent. Of our own words only: each key
   *   takes memory for a minute.
   * @param options.count How often it has just happened; once when absent.
   */
  warn(
    message: string,
    facts: LogFields = {},
    { key = message, count = 1 }: { readonly key?: string; readonly count?: number } = {},
  ): void {
    const written = this.#written.get(key);
    if (written !== undefined) {
      written.count += count;
      written.facts = facts;
      return;
    }
    this.#host.log.warn(message, { ...facts, count });
    this.#written.set(key, { message, count: 0, facts: {}, timer: this.#later(key) });
  }

  /** Writes what was only counted. It can be used on. */
  [Symbol.dispose](): void {
    for (const { message, count, facts, timer } of this.#written.values()) {
      timer[Symbol.dispose]();
      if (count > 0) this.#host.log.warn(message, { ...facts, count });
    }
    this.#written.clear();
  }

  #later(key: string): Disposable {
    return this.#host.clock.after(EVERY_MS, () => {
      const written = this.#written.get(key);
      if (written === undefined) return;
      const { message, count, facts } = written;
      if (count === 0) return void this.#written.delete(key);
      this.#host.log.warn(message, { ...facts, count });
      Object.assign(written, { count: 0, timer: this.#later(key) });
    });
  }
}
