/**
 * Since when a task runs here, and since when its steps have printed nothing. This is known only while
 * the task runs; no store keeps it.
 *
 * @module
 */

import type { WallClock } from "../../base/clock.ts";
import type { RunningTask } from "../worker_load.ts";

/** The activity of one running task. */
export class Activity {
  readonly #clock: WallClock;
  readonly #since: number;
  #seenAt: number;
  /** The attempts that are under way, each with its time limit. */
  readonly #attempts = new Set<{ readonly limitMs: number }>();

  /** The task begins, or goes on, now. */
  constructor(clock: WallClock) {
    this.#clock = clock;
    this.#since = this.#seenAt = clock.now();
  }

  /** Notes that a step has printed something. */
  seen(): void {
    this.#seenAt = this.#clock.now();
  }

  /** Notes that an attempt at a step begins, with its time limit; it ends when it is disposed. */
  attempt(limitMs = Infinity): Disposable {
    const attempt = { limitMs };
    this.#attempts.add(attempt);
    this.seen();
    return { [Symbol.dispose]: () => void this.#attempts.delete(attempt) };
  }

  /** The activity as status and lists show it; `id` is that of the task. */
  of(id: string): RunningTask {
    const task = { id, since: this.#since };
    if (this.#attempts.size === 0) return task;
    const mayTakeMs = Math.max(...Array.from(this.#attempts, ({ limitMs }) => limitMs));
    const silent = { ...task, silentSince: this.#seenAt };
    return mayTakeMs === Infinity ? silent : { ...silent, mayTakeMs };
  }
}
