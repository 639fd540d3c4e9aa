/**
 * One deadline for many who wait: they share a timer and give up in the order in which they came, a
 * tick late at most. A timer of its own for each body of a webhook cost a twentieth of the request.
 *
 * @module
 */

/** Ticks in the time that anybody waits. */
const TICKS = 16;

/** Somebody who waits. */
interface Waiter {
  /** The first tick that is too late. */
  readonly lastTick: number;
  readonly giveUp: () => void;
}

/** Everybody who waits equally long for something. */
export class WaitingList {
  readonly #tickMs: number;
  readonly #waiting = new Set<Waiter>();
  #tick = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** Everybody waits for `ms` milliseconds. */
  constructor(ms: number) {
    this.#tickMs = Math.ceil(ms / TICKS);
  }

  /** What `work` comes to, or what `late` throws when that takes too long. */
  wait<T>(work: Promise<T>, late: () => Error): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const waiter: Waiter = {
      lastTick: this.#tick + TICKS + 1, // the tick under way is over sooner than the others
      giveUp: () => reject(late()),
    };
    this.#waiting.add(waiter);
    this.#timer ??= setInterval(() => this.#sweep(), this.#tickMs);
    work.then((value) => {
      this.#leave(waiter);
      resolve(value);
    }, (error) => {
      this.#leave(waiter);
      reject(error);
    });
    return promise;
  }

  #leave(waiter: Waiter): void {
    this.#waiting.delete(waiter);
    if (this.#waiting.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #sweep(): void {
    this.#tick++;
    for (const waiter of this.#waiting) {
      if (waiter.lastTick > this.#tick) return; // and so have all who came after
      waiter.giveUp();
      this.#leave(waiter);
    }
  }
}
