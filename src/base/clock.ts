/**
 * Time as an argument, so that tests move it. Nothing else in the program reads the system clock.
 *
 * @module
 */

/** Where the program reads the time from. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

/** The machine's own clock. */
export const systemClock: Clock = { now: () => Date.now() };

/** Milliseconds for measuring how long something takes; jumps of the clock do not touch them. */
export function stopwatchMs(): number {
  return performance.now();
}

/** Last time that RFC 3339 can write, whose years have four digits. */
export const LAST_TIME_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
/** First one. */
const FIRST_TIME_MS = new Date(0).setUTCFullYear(0, 0, 1);

/**
 * `ms` since the epoch as RFC 3339 in UTC, as every time is shown. A time it cannot write becomes the
 * nearest it can: one row with such a time must not keep a whole list from being shown.
 */
export function rfc3339(ms: number): string {
  const known = Number.isNaN(ms) ? 0 : ms;
  return new Date(Math.min(Math.max(known, FIRST_TIME_MS), LAST_TIME_MS)).toISOString();
}

/** Resolves after `ms` milliseconds, or as soon as `signal` aborts; never rejects. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
  });
}

/** Longest time a timer of the runtime takes; beyond it, it would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Calls `then` once, after `ms` milliseconds, however many; not after it has been disposed. */
export function after(ms: number, then: () => void): Disposable {
  let left = ms;
  let timer: ReturnType<typeof setTimeout>;
  const wait = () => {
    const step = Math.min(left, MAX_TIMER_MS);
    left -= step;
    timer = setTimeout(left > 0 ? wait : then, step);
  };
  wait();
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}
