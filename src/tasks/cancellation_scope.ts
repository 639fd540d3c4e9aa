/**
 * Why running work has to end early: the daemon stops, a user cancelled the task, or its time is
 * up. The first cause counts.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";

/** Causes in the order in which they count: the daemon stops, a user cancelled, time is up. */
export type CancelCause = "stop" | "cancel" | "timeout";

/** Collects the causes for which work has to end early, and aborts a signal with the first. */
export class CancellationScope implements Disposable {
  readonly #controller = new AbortController();
  readonly #sources = new DisposableStack();
  #why: CancelCause | undefined;

  /** Ends when one of these signals aborts, in this order where several have. */
  constructor(signals: Readonly<Partial<Record<CancelCause, AbortSignal>>>) {
    for (const [why, signal] of Object.entries(signals) as [CancelCause, AbortSignal][]) {
      if (signal.aborted) this.end(why);
      const listener = () => this.end(why);
      signal.addEventListener("abort", listener);
      this.#sources.defer(() => signal.removeEventListener("abort", listener));
    }
  }

  /** Aborts at the end. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Cause of the end; `undefined` before it. */
  get why(): CancelCause | undefined {
    return this.#why;
  }

  /** Ends it now. */
  end(why: CancelCause): void {
    this.#why ??= why;
    this.#controller.abort();
  }

  /** Ends it for `timeout` after this long. */
  endAfter(ms: number, clock: Clock): void {
    this.#sources.use(clock.after(ms, () => this.end("timeout")));
  }

  /** Detaches from the signals: nothing ends the scope any more. */
  [Symbol.dispose](): void {
    this.#sources.dispose();
  }
}
