/**
 * Clocks for tests: `ManualClock`, whose time and timers stand still until the test moves them, and
 * `setClock`, whose time of day alone the test sets.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import { type Clock, clockOf, systemClock } from "../../src/base/clock.ts";

/** 1 January 2026. */
const START = Date.UTC(2026, 0, 1);

/** A clock whose time of day the test sets. */
export interface SetClock extends Clock {
  /** The result of `now`. Setting it makes no timer due, as with the clock of a machine. */
  time: number;
}

/** Makes a clock with real timers, whose time of day stands still until it is set. */
export function setClock(time = START): SetClock {
  const clock = { ...systemClock, time, now: () => clock.time };
  return clock;
}

/** A pending timer. */
interface Timer {
  readonly at: number;
  readonly then: () => void;
}

/** A clock that stands still, with its timers and pauses, until `advance` moves it. */
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

  /** Number of pending timers and pauses. */
  get waiting(): number {
    return this.#timers.size;
  }

  /**
   * Lets time pass. Timers that come due are called in order, each at its own time, and after
   * everything that earlier ones led to through promises and timers of this clock.
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
 * Lets time pass in steps until `work` is over, for work that also waits for processes or disks.
 * While no timer is pending, the clock stands still.
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

/** Resolves when all promises have settled that can do so without a timer. */
function promisesSettled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
