/**
 * Why what runs is to end before its time: the daemon goes down, somebody cancelled the task, or
 * the task has no time left. The first of these counts.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";

/** Why something is to end. */
export type CancelCause = "stop" | "cancel" | "timeout";

/** The end of something, as soon as there is a reason for it. */
export class CancellationScope implements Disposable {
  readonly #controller = new AbortController();
  readonly #sources = new DisposableStack();
  #why: CancelCause | undefined;

  /** Ends when one of these aborts, in this order where several have. */
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

  /** Why it has ended; `undefined` while it has not. */
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

  /** Nothing ends it any more. */
  [Symbol.dispose](): void {
    this.#sources.dispose();
  }
}
