/**
 * A timeout that many waiters share: they have one timer, and give up in the order in which they came,
 * at most a tick late. A timer for each body of a webhook took a twentieth of the time of a request.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";

/** Number of ticks in the time that each waiter waits. */
const TICKS = 16;

/** A waiter, linked to the waiters before and after it. */
interface Waiter {
  /** The tick at which the waiter gives up. */
  readonly lastTick: number;
  /** `undefined` when it does not wait any more. */
  giveUp: (() => void) | undefined;
  before: Waiter | undefined;
  after: Waiter | undefined;
}

/**
 * Waiters that all wait equally long. They are a linked list, because a Set keeps waiters that have
 * left in its outgrown tables until the next full collection of garbage
 * (`docs/decisions/0002-old-garbage.md`).
 */
export class SharedTimeout {
  readonly #tickMs: number;
  readonly #clock: Clock;
  #first: Waiter | undefined;
  #last: Waiter | undefined;
  #tick = 0;
  #timer: Disposable | undefined;
  /** Whether the timer runs while nobody waits. */
  #isKept = false;

  /** A list whose waiters each wait for `ms` milliseconds. */
  constructor(ms: number, clock: Clock) {
    this.#clock = clock;
    this.#tickMs = Math.ceil(ms / TICKS);
  }

  /** The result of `work`; rejects with the error that `late` makes when it takes too long. */
  wait<T>(work: Promise<T>, late: () => Error): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const waiter = this.#join(() => reject(late()));
    work.then((value) => {
      this.#leave(waiter);
      resolve(value);
    }, (error) => {
      this.#leave(waiter);
      reject(error);
    });
    return promise;
  }

  /**
   * Keeps the timer running until disposed. It is started and stopped with the first and the last
   * waiter otherwise, which takes 5 µs each time: for bodies that arrive with their headers, a
   * thirtieth of an accept.
   */
  keepTimer(): Disposable {
    this.#isKept = true;
    this.#startTimer();
    return {
      [Symbol.dispose]: () => {
        this.#isKept = false;
        this.#stopIfUnused();
      },
    };
  }

  #startTimer(): void {
    this.#timer ??= this.#clock.every(this.#tickMs, () => this.#sweep());
  }

  #stopIfUnused(): void {
    if (this.#isKept || this.#first !== undefined) return;
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  #join(giveUp: () => void): Waiter {
    const lastTick = this.#tick + TICKS + 1; // one more, because the present tick is not whole
    const waiter: Waiter = { lastTick, giveUp, before: this.#last, after: undefined };
    if (this.#last === undefined) this.#first = waiter;
    else this.#last.after = waiter;
    this.#last = waiter;
    this.#startTimer();
    return waiter;
  }

  /** Removes all links of a waiter, so that it keeps no other waiter alive while it is garbage. */
  #leave(waiter: Waiter): void {
    if (waiter.giveUp === undefined) return;
    const { before, after } = waiter;
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    waiter.giveUp = waiter.before = waiter.after = undefined;
    this.#stopIfUnused();
  }

  #sweep(): void {
    this.#tick++;
    for (let one = this.#first; one !== undefined; one = this.#first) {
      if (one.lastTick > this.#tick) return; // all waiters after it wait longer
      one.giveUp?.();
      this.#leave(one);
    }
  }
}
