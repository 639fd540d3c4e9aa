/**
 * Why running work has to end early: the daemon stops, the task was cancelled, or its time is up. The
 * first cause counts.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";

/** The causes in the order of their precedence: the daemon stops, the task was cancelled, time is up. */
export type CancelCause = "stop" | "cancel" | "timeout";

/** Aborts a signal at the first cause for which work has to end early. */
export class CancellationScope implements Disposable {
  readonly #controller = new AbortController();
  readonly #sources = new DisposableStack();
  #why: CancelCause | undefined;

  /** Ends when one of these signals aborts; if several have aborted, the first in this order counts. */
  constructor(signals: Readonly<Partial<Record<CancelCause, AbortSignal>>>) {
    for (const [why, signal] of Object.entries(signals) as [CancelCause, AbortSignal][]) {
      if (signal.aborted) this.end(why);
      const listener = () => this.end(why);
      signal.addEventListener("abort", listener);
      this.#sources.defer(() => signal.removeEventListener("abort", listener));
    }
  }

  /** Aborts when the scope ends. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Why the scope has ended; `undefined` before that. */
  get why(): CancelCause | undefined {
    return this.#why;
  }

  /** Ends the scope now. */
  end(why: CancelCause): void {
    this.#why ??= why;
    this.#controller.abort();
  }

  /** Ends the scope for `timeout` after `ms` milliseconds. */
  endAfter(ms: number, clock: Clock): void {
    this.#sources.use(clock.after(ms, () => this.end("timeout")));
  }

  /** Ends the scope for `timeout` `ms` milliseconds after `signal` has aborted. */
  endAfterAbort(signal: AbortSignal, ms: number, clock: Clock): void {
    if (signal.aborted) return this.endAfter(ms, clock);
    const listener = () => this.endAfter(ms, clock);
    signal.addEventListener("abort", listener);
    this.#sources.defer(() => signal.removeEventListener("abort", listener));
  }

  /** Detaches from the signals: nothing ends the scope any more. */
  [Symbol.dispose](): void {
    this.#sources.dispose();
  }
}
