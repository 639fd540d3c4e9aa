/**
 * Runs work that must never run twice at once: when it is due or kicked, and once more if it was kicked
 * while it ran.
 *
 * @module
 */

import type { Clock } from "./clock.ts";

/** The work of a runner. */
export interface SerialWork {
  /**
   * Does the work once. Resolves with the time at which it is due again, in milliseconds since the
   * epoch; `undefined` when only {@linkcode SerialRunner.kick} brings the next run.
   */
  readonly run: () => Promise<number | undefined>;
  /** Receives the error of a run that failed; the next run is due a second later. */
  readonly onError: (error: unknown) => void;
  readonly clock: Clock;
}

/** Pause after a run that failed. */
const RETRY_MS = 1000;
/** Longest wait for the next run, because the clock may be set forward meanwhile. */
const MAX_WAIT_MS = 60_000;

/** Runs its work, one run at a time, until it is disposed. */
export class SerialRunner implements AsyncDisposable {
  readonly #work: SerialWork;
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = false;
  #due: Disposable | undefined;

  /** Runs nothing before the first {@linkcode kick}. */
  constructor(work: SerialWork) {
    this.#work = work;
  }

  /** Whether it was disposed, so that no run starts any more. */
  get isStopped(): boolean {
    return this.#stopped;
  }

  /** Runs the work now, or again as soon as the run under way is over. */
  kick(): void {
    if (this.#stopped) return;
    this.#again = true;
    this.#running ??= this.#runWhileAsked().finally(() => {
      this.#running = undefined;
      if (this.#again) this.kick(); // the kick came after the loop had ended, and before this
    });
  }

  /** Resolves when no run is under way and no kick is left. */
  async settled(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  /** Starts no further run, and waits for the current one. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    this.#due?.[Symbol.dispose]();
    await this.#running;
  }

  async #runWhileAsked(): Promise<void> {
    while (this.#again && !this.#stopped) {
      this.#again = false;
      this.#wakeAt(await this.#runOnce());
    }
  }

  /** Runs the work; returns the time of the next run. */
  async #runOnce(): Promise<number | undefined> {
    const { run, onError, clock } = this.#work;
    try {
      return await run();
    } catch (error) {
      onError(error);
      return clock.now() + RETRY_MS;
    }
  }

  #wakeAt(time: number | undefined): void {
    this.#due?.[Symbol.dispose]();
    this.#due = undefined;
    if (time === undefined || this.#stopped) return;
    const { clock } = this.#work;
    const waitMs = Math.min(Math.max(0, time - clock.now()), MAX_WAIT_MS);
    this.#due = clock.after(waitMs, () => this.kick());
  }
}
