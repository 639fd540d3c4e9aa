/**
 * Time as an argument, so that tests can move it. Nothing else in the program reads the system clock or
 * starts a timer.
 *
 * @module
 */

/** The time of day. */
export interface WallClock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

/** All functions of time. Code that only needs the time of day takes a {@linkcode WallClock}. */
export interface Clock extends WallClock {
  /** Milliseconds since a fixed moment, to measure durations: setting the clock does not change it. */
  monotonicMs(): number;
  /** Calls `then` once after `ms` milliseconds, which may be any number, unless it is disposed before. */
  after(ms: number, then: () => void): Disposable;
  /** Calls `then` every `ms` milliseconds, first after `ms`, until it is disposed. */
  every(ms: number, then: () => void): Disposable;
  /** Resolves after `ms` milliseconds, or as soon as `signal` aborts; never rejects. */
  pause(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A clock whose `every` and `pause` are made of its `after`. */
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

/** Longest time of a timer of the runtime, which fires at once for a longer one. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The clock of the machine. */
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

/** Resolves after the event loop has handled everything that is ready now. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

/** Last time that RFC 3339 can express: its years have four digits. */
export const LAST_TIME_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
/** First time that RFC 3339 can express. */
const FIRST_TIME_MS = new Date(0).setUTCFullYear(0, 0, 1);

/**
 * `ms` since the epoch as RFC 3339 in UTC, the form in which each time is shown. A time beyond its
 * limits becomes the limit: one row with such a time must not prevent a whole list.
 */
export function rfc3339(ms: number): string {
  const known = Number.isNaN(ms) ? 0 : ms;
  return new Date(Math.min(Math.max(known, FIRST_TIME_MS), LAST_TIME_MS)).toISOString();
}

/** A time to the second, without characters that names of files cannot have: `20260102T030405Z`. */
export function timeInName(ms: number): string {
  return rfc3339(ms).replace(/\.\d+/, "").replaceAll(/[-:]/g, "");
}

/**
 * The time of a text in RFC 3339, in milliseconds since the epoch; `undefined` of any other text, also of
 * a day that its month does not have, which `Date.parse` takes for one of the next month.
 */
export function findInstant(text: string): number | undefined {
  const pattern =
    /^(\d{4}-\d\d-\d\d)[Tt]([01]\d|2[0-3]):\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$/;
  const [, day] = pattern.exec(text) ?? [];
  if (day === undefined || !rfc3339(Date.parse(`${day}T00:00:00Z`)).startsWith(day)) {
    return undefined;
  }
  const at = Date.parse(text);
  return Number.isFinite(at) ? at : undefined;
}
