/**
 * Clocks that a test sets: one that stands still with all its timers until it is moved, and one
 * where only the time of day is the test's.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import { type Clock, clockOf, systemClock } from "../../src/base/clock.ts";

/** 1 January 2026. */
const START = Date.UTC(2026, 0, 1);

/** A clock whose time of day the test sets. */
export interface SetClock extends Clock {
  /** What `now` gives. Setting it is like setting the machine's clock: no timer comes due by it. */
  time: number;
}

/** The machine's timers with a time of day that stands still until it is set. */
export function setClock(time = START): SetClock {
  const clock = { ...systemClock, time, now: () => clock.time };
  return clock;
}

/** Something that is to be called. */
interface Timer {
  readonly at: number;
  readonly then: () => void;
}

/** A clock that stands still, timers and pauses included, until it is moved. */
export class ManualClock implements SetClock {
  time: number;
  readonly every: Clock["every"];
  readonly pause: Clock["pause"];
  readonly #timers = new Set<Timer>();
  #passed = 0;

  /** Starts at `time`, in milliseconds since the epoch. */
  constructor(time = START) {
    this.time = time;
    const { every, pause } = clockOf({
      now: () => this.now(),
      monotonicMs: () => this.monotonicMs(),
      after: (ms, then) => this.after(ms, then),
    });
    this.every = every;
    this.pause = pause;
  }

  now(): number {
    return this.time;
  }

  monotonicMs(): number {
    return this.#passed;
  }

  after(ms: number, then: () => void): Disposable {
    const timer = { at: this.#passed + Math.max(0, ms), then };
    this.#timers.add(timer);
    return { [Symbol.dispose]: () => void this.#timers.delete(timer) };
  }

  /** How many timers and pauses there are. */
  get waiting(): number {
    return this.#timers.size;
  }

  /**
   * Lets time pass: calls what comes due in its order, each at its own time and after all that the
   * ones before it led to, as far as that waits for nothing but promises and timers of this clock.
   */
  async advance(ms: number): Promise<void> {
    const end = this.#passed + ms;
    for (;;) {
      await promisesSettled();
      const [due] = [...this.#timers].filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at);
      const at = due?.at ?? end;
      this.time += at - this.#passed;
      this.#passed = at;
      if (due === undefined) return;
      this.#timers.delete(due);
      due.then();
    }
  }
}

/**
 * Lets time pass in steps until `work` is over, which waits for something real besides this clock:
 * no time passes while nothing waits for it.
 */
export async function passUntil<T>(
  clock: ManualClock,
  work: Promise<T>,
  stepMs: number,
): Promise<T> {
  let isOver = false;
  const done = work.finally(() => isOver = true);
  done.catch(() => {}); // thrown below
  while (!isOver) await (clock.waiting > 0 ? clock.advance(stepMs) : systemClock.pause(1));
  return await done;
}

/** All promises that can settle by themselves have. */
function promisesSettled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
