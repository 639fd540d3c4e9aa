/**
 * Time as an argument, so that tests move it: what time it is, how long something took, and
 * waiting. Nothing else in the program reads the system clock or starts a timer.
 *
 * @module
 */

/** What time it is. */
export interface WallClock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

/** Time in full. What only stamps records asks for a {@linkcode WallClock}. */
export interface Clock extends WallClock {
  /**
   * Milliseconds since some moment, to measure how long something takes: setting the clock is not
   * in it.
   */
  monotonicMs(): number;
  /** Calls `then` once, after `ms` milliseconds, however many; not after it has been disposed. */
  after(ms: number, then: () => void): Disposable;
  /** Calls `then` every `ms` milliseconds, first after so long, until it is disposed. */
  every(ms: number, then: () => void): Disposable;
  /** Resolves after `ms` milliseconds, or as soon as `signal` aborts; never rejects. */
  pause(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A clock whose intervals and pauses are made of its `after`. */
export function clockOf(base: Pick<Clock, "now" | "monotonicMs" | "after">): Clock {
  const { after } = base;
  return {
    ...base,
    every(ms, then) {
      let next: Disposable;
      const wait = () => {
        next = after(ms, () => {
          wait();
          then();
        });
      };
      wait();
      return { [Symbol.dispose]: () => next[Symbol.dispose]() };
    },
    pause: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const done = () => {
          timer[Symbol.dispose]();
          signal?.removeEventListener("abort", done);
          resolve();
        };
        const timer = after(ms, done);
        signal?.addEventListener("abort", done, { once: true });
      }),
  };
}

/** Longest time a timer of the runtime takes; beyond it, it would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The machine's own clock. */
export const systemClock: Clock = clockOf({
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(ms, then) {
    let left = ms;
    let timer: ReturnType<typeof setTimeout>;
    const wait = () => {
      const step = Math.min(left, MAX_TIMER_MS);
      left -= step;
      timer = setTimeout(left > 0 ? wait : then, step);
    };
    wait();
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
});

/** Lets the event loop do what else is there to be done; that is no question of time. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

/** Last time that RFC 3339 can write, whose years have four digits. */
export const LAST_TIME_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
/** First one. */
const FIRST_TIME_MS = new Date(0).setUTCFullYear(0, 0, 1);

/**
 * `ms` since the epoch as RFC 3339 in UTC, as every time is shown. A time it cannot write becomes
 * the nearest it can: one row with such a time must not keep a whole list from being shown.
 */
export function rfc3339(ms: number): string {
  const known = Number.isNaN(ms) ? 0 : ms;
  return new Date(Math.min(Math.max(known, FIRST_TIME_MS), LAST_TIME_MS)).toISOString();
}

/** The same to the second, without marks that names of files do not take: `20260102T030405Z`. */
export function timeInName(ms: number): string {
  return rfc3339(ms).replace(/\.\d+/, "").replaceAll(/[-:]/g, "");
}
