/**
 * What can be seen of a task that runs here: since when, and since when its steps have printed
 * nothing. It is known while the task runs, and stored nowhere.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import type { RunningTask } from "../worker_load.ts";

/** What one task does. */
export class Activity {
  readonly #clock: Pick<Clock, "now">;
  readonly #since: number;
  #seenAt: number;
  /** The limit of each attempt that is under way. */
  readonly #attempts = new Set<{ readonly limitMs: number }>();

  /** Begins now. */
  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
    this.#since = this.#seenAt = clock.now();
  }

  /** Notes that a step has printed something. */
  seen(): void {
    this.#seenAt = this.#clock.now();
  }

  /** Notes that an attempt at a step begins, which may take so long, until it is disposed. */
  attempt(limitMs = Infinity): Disposable {
    const attempt = { limitMs };
    this.#attempts.add(attempt);
    this.seen();
    return { [Symbol.dispose]: () => void this.#attempts.delete(attempt) };
  }

  /** What is to be seen of the task with this id. */
  of(id: string): RunningTask {
    const known = { id, since: this.#since };
    if (this.#attempts.size === 0) return known;
    const mayTakeMs = Math.max(...Array.from(this.#attempts, ({ limitMs }) => limitMs));
    return {
      ...known,
      silentSince: this.#seenAt,
      ...(mayTakeMs === Infinity ? {} : { mayTakeMs }),
    };
  }
}
