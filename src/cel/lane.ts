/**
 * A Worker with a queue for each share: shares take turns, so a busy share delays only itself.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { toJson } from "../base/json.ts";
import { type Outcome, TimedWorker } from "./timed_worker.ts";
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

const CLOSED: CelResult = { ok: false, error: "the program is ending" };
const TOO_DEEP: CelResult = { ok: false, error: "a value is nested too deeply" };

/** What a {@linkcode Lane} needs. */
interface LaneOptions {
  readonly start: () => Worker;
  readonly deadlineMs: number;
  /** Settles a job that took longer, or passes it on. */
  readonly onLate: (job: Job) => void;
}

/**
 * Factor of the deadline after which the Worker is given up. Loops end at the deadline; a single
 * function on a large text ends by itself, but possibly later than a caller should wait.
 */
const GIVE_UP_FACTOR = 2;

/** Evaluates one expression at a time. */
export class Lane implements Disposable {
  readonly #options: LaneOptions;
  readonly #worker: TimedWorker<EvaluationRequest, CelResult>;
  /** Queues of the waiting shares, the next one first; none is empty. */
  readonly #queues: Job[][] = [];
  #running: Job | undefined;

  /** Its Worker starts with the first job. */
  constructor(options: LaneOptions) {
    this.#options = options;
    this.#worker = new TimedWorker(options.start);
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

  /** Ends the Worker; waiting evaluations are rejected. */
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
    const { deadlineMs: loopsMs } = this.#options;
    const request = { source: job.source, variables, loopsMs };
    const outcome = await this.#worker.ask(request, loopsMs * GIVE_UP_FACTOR);
    if (outcome.is === "late" || isLate(outcome)) this.#options.onLate(job);
    else job.settle(toResult(outcome));
  }
}

function isLate(outcome: Outcome<CelResult>): boolean {
  return outcome.is === "answered" && !outcome.answer.ok && outcome.answer.late === true;
}

function toResult(outcome: Exclude<Outcome<CelResult>, { is: "late" }>): CelResult {
  if (outcome.is === "answered") return outcome.answer;
  if (outcome.is === "closed") return CLOSED;
  return { ok: false, error: `evaluation failed: ${outcome.message}` };
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
