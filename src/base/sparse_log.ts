/**
 * Warnings that strangers can cause at will. The first is written at once, then at most one a minute,
 * with a count, so that a flood of requests does not become a flood of lines.
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

import type { Core } from "./core.ts";
import type { LogFields } from "./log.ts";

/** Least time between two lines with the same key. */
const EVERY_MS = 60_000;

/** A warning that was written within the last minute. */
interface RecentWarning {
  readonly message: string;
  /** Number of repetitions since then. */
  count: number;
  /** Facts of the last repetition. */
  facts: LogFields;
  timer: Disposable;
}

/** Writes warnings, each key at most once a minute. */
export class SparseLog implements Disposable {
  readonly #core: Core;
  readonly #written = new Map<string, RecentWarning>();

  constructor(core: Core) {
    this.#core = core;
  }

  /**
   * Writes a warning with its `count`. If one with the same key was written less than a minute ago, it is
   * only counted: the next line has the count, and the facts of the last warning.
   *
   * @param options.key The message when absent. It must not contain text from outside, because each key
   *   takes memory for a minute.
   * @param options.count Number of events in this call; 1 when absent.
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
    this.#core.log.warn(message, { ...facts, count });
    this.#written.set(key, { message, count: 0, facts: {}, timer: this.#later(key) });
  }

  /** Writes the warnings that were only counted. The object can still be used. */
  [Symbol.dispose](): void {
    for (const { message, count, facts, timer } of this.#written.values()) {
      timer[Symbol.dispose]();
      if (count > 0) this.#core.log.warn(message, { ...facts, count });
    }
    this.#written.clear();
  }

  #later(key: string): Disposable {
    return this.#core.clock.after(EVERY_MS, () => {
      const written = this.#written.get(key);
      if (written === undefined) return;
      const { message, count, facts } = written;
      if (count === 0) return void this.#written.delete(key);
      this.#core.log.warn(message, { ...facts, count });
      Object.assign(written, { count: 0, timer: this.#later(key) });
    });
  }
}
