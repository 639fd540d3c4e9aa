/**
 * One timeout shared by many waiters: they have one timer and give up in the order in which they
 * came, a tick late at most. A timer of its own for each body of a webhook cost a twentieth of the
 * request.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";

/** Ticks in the time that anybody waits. */
const TICKS = 16;

/** A waiter, linked to those before and after it. */
interface Waiter {
  /** The first tick that is too late. */
  readonly lastTick: number;
  /** Absent when it waits no more. */
  giveUp: (() => void) | undefined;
  before: Waiter | undefined;
  after: Waiter | undefined;
}

/**
 * All that wait equally long for something. A linked list: the tables that a Set outgrows would
 * keep waiters that have left until the next full collection
 * (`docs/decisions/0002-old-garbage.md`).
 */
export class SharedTimeout {
  readonly #tickMs: number;
  readonly #clock: Clock;
  #first: Waiter | undefined;
  #last: Waiter | undefined;
  #tick = 0;
  #timer: Disposable | undefined;

  /** A list whose waiters each wait for `ms` milliseconds. */
  constructor(ms: number, clock: Clock) {
    this.#clock = clock;
    this.#tickMs = Math.ceil(ms / TICKS);
  }

  /** What `work` comes to, or what `late` throws when that takes too long. */
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

  #join(giveUp: () => void): Waiter {
    const lastTick = this.#tick + TICKS + 1; // the tick under way is over sooner than the others
    const waiter: Waiter = { lastTick, giveUp, before: this.#last, after: undefined };
    if (this.#last === undefined) this.#first = waiter;
    else this.#last.after = waiter;
    this.#last = waiter;
    this.#timer ??= this.#clock.every(this.#tickMs, () => this.#sweep());
    return waiter;
  }

  /** Unlinks fully: a node that is garbage must not keep live nodes reachable. */
  #leave(waiter: Waiter): void {
    if (waiter.giveUp === undefined) return;
    const { before, after } = waiter;
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    waiter.giveUp = waiter.before = waiter.after = undefined;
    if (this.#first !== undefined) return;
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  #sweep(): void {
    this.#tick++;
    for (let one = this.#first; one !== undefined; one = this.#first) {
      if (one.lastTick > this.#tick) return; // and so do all after it
      one.giveUp?.();
      this.#leave(one);
    }
  }
}
