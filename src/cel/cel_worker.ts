/**
 * A Worker for evaluations, with a queue for each share: shares take turns, so a busy share delays
 * only itself.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { toJson } from "../base/json.ts";
import type { CelResult } from "./expression.ts";

/** A request to the Worker; variables travel as JSON text, which keeps large numbers exact. */
export interface EvaluationRequest {
  readonly source: string;
  /** JSON object of the variables it may use. */
  readonly variables: string;
  /** Time for its loops, in milliseconds. */
  readonly loopsMs: number;
}

/** An evaluation that waits for its turn. */
export interface Job {
  readonly share: string;
  readonly source: string;
  readonly variables: unknown;
  /** Settles the promise of the caller. */
  readonly settle: (result: CelResult | Promise<never>) => void;
}

/** Most waiting evaluations of one share; where several shares wait, it is divided between them. */
const MAX_WAITING = 200;

/**
 * Factor of the deadline after which the Worker is given up. Loops end at the deadline; a single
 * function on a large text ends by itself, but possibly later than a caller should wait.
 */
const GIVE_UP_FACTOR = 2;

const CLOSED: CelResult = { ok: false, error: "the program is ending" };
const TOO_DEEP: CelResult = { ok: false, error: "a value is nested too deeply" };
const LATE: CelResult = { ok: false, error: "took too long", late: true };

/** Evaluates one expression at a time. Its Worker starts with the first job. */
export class CelWorker implements Disposable {
  readonly #deadlineMs: number;
  readonly #onLate: (job: Job) => void;
  readonly #worker = new TimedWorker();
  /** Queues of the waiting shares, the next one first; none is empty. */
  readonly #queues: Job[][] = [];
  #running: Job | undefined;

  /** `onLate` settles a job that took longer than `deadlineMs`, or passes it on. */
  constructor(deadlineMs: number, onLate: (job: Job) => void) {
    this.#deadlineMs = deadlineMs;
    this.#onLate = onLate;
  }

  /**
   * Checks that one more job of `share` may wait.
   *
   * @throws {AppError} `overloaded` when too many of them do.
   */
  checkRoom(share: string): void {
    const own = this.#queueOf(share);
    const shares = this.#queues.length + (own === undefined ? 1 : 0);
    const waiting = (own?.length ?? 0) + (this.#running?.share === share ? 1 : 0);
    if (waiting < MAX_WAITING / shares) return;
    throw new AppError(
      "overloaded",
      `Too many slow expressions are waiting: ${waiting} for ${share}, as many as it may have now`,
    );
  }

  /** Queues a job behind those of its share. */
  add(job: Job): void {
    const own = this.#queueOf(job.share);
    if (own === undefined) this.#queues.push([job]);
    else own.push(job);
    if (this.#running === undefined) this.#runNext();
  }

  /** Removes and returns every waiting job of a share. */
  takeAll(share: string): readonly Job[] {
    const own = this.#queueOf(share);
    if (own === undefined) return [];
    this.#queues.splice(this.#queues.indexOf(own), 1);
    return own;
  }

  /** Ends the Worker to free its memory, unless there are jobs. */
  rest(): void {
    if (this.#running === undefined) this.#worker.rest();
  }

  /** Ends the Worker; waiting evaluations fail. */
  [Symbol.dispose](): void {
    this.#worker[Symbol.dispose]();
  }

  #queueOf(share: string): Job[] | undefined {
    return this.#queues.find(([first]) => first?.share === share);
  }

  #runNext(): void {
    const queue = this.#queues.shift();
    const job = this.#running = queue?.shift();
    if (queue === undefined || job === undefined) return;
    if (queue.length > 0) this.#queues.push(queue);
    const done = () => this.#runNext();
    this.#run(job).then(done, (error) => {
      job.settle(Promise.reject(error));
      done();
    });
  }

  async #run(job: Job): Promise<void> {
    const variables = findJson(job.variables); // made only now: each text can have megabytes
    if (variables === undefined) return job.settle(TOO_DEEP);
    const request = { source: job.source, variables, loopsMs: this.#deadlineMs };
    const result = await this.#worker.evaluate(request, this.#deadlineMs * GIVE_UP_FACTOR);
    if (!result.ok && result.late === true) this.#onLate(job);
    else job.settle(result);
  }
}

/** JSON of `value`; `undefined` when it is nested too deeply for that. */
function findJson(value: unknown): string | undefined {
  try {
    return toJson(value);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/**
 * A Worker that evaluates one expression at a time and is given up when that takes too long. It
 * starts with the first request, and again with the first after its end. A Worker that is given up
 * ends when it next waits, and not before: every evaluation has to end by itself.
 */
class TimedWorker implements Disposable {
  #worker: Worker | undefined;
  #giveUp = (_result: CelResult) => {};
  #closed = false;

  /**
   * Evaluates while no other evaluation is open. Starting takes longer than most deadlines, so the
   * time counts from the Worker's first message, which only says that it is ready.
   *
   * @throws {Error} when the Worker does not start.
   */
  evaluate(request: EvaluationRequest, deadlineMs: number): Promise<CelResult> {
    const { promise, resolve, reject } = Promise.withResolvers<CelResult>();
    if (this.#closed) return Promise.resolve(CLOSED);
    let timer: ReturnType<typeof setTimeout> | undefined;
    this.#giveUp = (result) => {
      clearTimeout(timer);
      this.rest();
      resolve(result);
    };
    const isFresh = this.#worker === undefined;
    const worker = this.#worker ??= startWorker();
    worker.onerror = (event) => {
      event.preventDefault();
      if (timer === undefined) reject(new Error(`A Worker did not start: ${event.message}`));
      this.#giveUp({ ok: false, error: `evaluation failed: ${event.message}` });
    };
    const send = () => {
      timer = setTimeout(() => this.#giveUp(LATE), deadlineMs);
      worker.onmessage = (event: MessageEvent<CelResult>) => {
        clearTimeout(timer);
        resolve(event.data);
      };
      worker.postMessage(request);
    };
    if (isFresh) worker.onmessage = send;
    else send();
    return promise;
  }

  /** Ends the Worker until the next request, to free its memory; only while no evaluation is open. */
  rest(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
  }

  /** Ends the Worker; an open evaluation fails. */
  [Symbol.dispose](): void {
    this.#closed = true;
    this.#giveUp(CLOSED);
    this.rest();
  }
}

function startWorker(): Worker {
  return new Worker(import.meta.resolve("#cel-worker"), {
    type: "module",
    deno: { permissions: "none" },
  });
}
