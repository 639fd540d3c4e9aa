/**
 * Calls that share commits: those that come while a batch is in progress are the next batch. There
 * is no timer: an idle batcher takes the calls of one turn of the event loop.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import { AppError } from "../../base/errors.ts";
import { isOfOneCall } from "./database/faults.ts";

/** The result of one call of a batch. */
export type CallResult = { readonly value: unknown } | { readonly error: unknown };

/**
 * Runs the calls of a batch; returns their results in the same order. The function of a batcher
 * never rejects.
 */
export type RunBatch<Call> = (calls: readonly Call[]) => Promise<readonly CallResult[]>;

/** Repeats each half of a batch that has failed, until the call that fails is alone. */
export function byHalves<Call>(run: RunBatch<Call>): RunBatch<Call> {
  const runOrHalve: RunBatch<Call> = async (calls) => {
    try {
      return await run(calls);
    } catch (error) {
      // while the database is away, each call alone would wait for it again
      const isOver = calls.length === 1 || isAway(error) && !isOfOneCall(error);
      if (isOver) return calls.map(() => ({ error }));
      const half = Math.ceil(calls.length / 2);
      const first = await runOrHalve(calls.slice(0, half));
      return [...first, ...await runOrHalve(calls.slice(half))];
    }
  };
  return runOrHalve;
}

/** Whether nothing can be written now. */
export function isAway(error: unknown): error is AppError {
  return error instanceof AppError && error.code === "overloaded";
}

/** Most calls that may wait; above it requests are refused with `overloaded`. */
const MAX_WAITING = 20_000;
/** Most calls of a batch: each takes a few locks, of which the server has room for thousands. */
const MAX_BATCH = 256;

interface WaitingCall<Call> {
  readonly call: Call;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Runs one batch after the other. */
export class Batcher<Call> {
  readonly #run: RunBatch<Call>;
  #waiting: WaitingCall<Call>[] = [];
  #isSoon = false;
  #running: Promise<void> | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(run: RunBatch<Call>) {
    this.#run = run;
  }

  /** Runs a call with the next batch. */
  call(call: Call): Promise<unknown> {
    if (this.#waiting.length >= MAX_WAITING) {
      return Promise.reject(new AppError("overloaded", "Too many requests wait for the database"));
    }
    return this.#last = new Promise((resolve, reject) => {
      this.#waiting.push({ call, resolve, reject });
      if (this.#running !== undefined || this.#isSoon) return;
      this.#isSoon = true;
      setImmediate(() => {
        this.#isSoon = false;
        this.#running = this.#runAll();
      });
    });
  }

  /** Waits for the calls that were made before. */
  async settled(): Promise<void> {
    await this.#last.catch(() => {});
  }

  /** Waits until no call is left. */
  async idle(): Promise<void> {
    while (this.#isSoon || this.#running !== undefined) {
      await (this.#running ?? new Promise<void>((resolve) => setImmediate(resolve)));
    }
  }

  async #runAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, MAX_BATCH);
      const settled = await this.#run(batch.map(({ call }) => call));
      batch.forEach(({ resolve, reject }, index) => {
        const one = settled[index];
        if (one === undefined) reject(new Error("A call of a batch has no result"));
        else if ("error" in one) reject(one.error);
        else resolve(one.value);
      });
    }
    this.#running = undefined;
  }
}
