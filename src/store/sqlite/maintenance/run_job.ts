/**
 * Runs a long job on a database file in a thread of its own, which has access only to the
 * directories of that job and ends with it.
 *
 * @module
 */

import { dirname } from "node:path";
import type { BackupFacts, CheckFacts, Glance, Progress } from "../../maintenance.ts";
import { AppError } from "../../../base/errors.ts";
import type { DatabaseUsage } from "../../usage.ts";
import type { UsageRequest } from "./measure_usage.ts";
import { COPIED, type Job, type JobReply, receiveError, STOP } from "../protocol.ts";

/**
 * Copies the database `from` into the empty file `to`; yields its progress. Ending the iteration
 * early stops the job, and so does `signal`, without waiting for what cannot be stopped.
 *
 * @throws {AppError} `refused` or `overloaded` when the copy cannot be made or is not sound.
 */
export function backUpFile(
  files: { readonly from: string; readonly to: string },
  signal?: AbortSignal,
): AsyncGenerator<Progress, BackupFacts, undefined> {
  const stop = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
  return runJob<BackupFacts>({ type: "backup", ...files, stop }, { stop, signal });
}

/**
 * Checks the database at `path`, every page and every table; yields its progress. `alone` says that
 * no other process uses it. SQLite goes through all pages in one operation, which `signal` cannot
 * stop: it ends with the process.
 */
export function checkWholeFile(
  path: string,
  alone: boolean,
  signal?: AbortSignal,
): AsyncGenerator<Progress, CheckFacts, undefined> {
  return runJob<CheckFacts>({ type: "check", path, alone }, { signal });
}

/** Looks at the database at `path`: its schema, its pages without their indexes, and no rows. */
export async function glanceAtWholeFile(
  path: string,
  alone: boolean,
  signal?: AbortSignal,
): Promise<Glance> {
  const job = runJob<Glance>({ type: "glance", path, alone }, { signal });
  for (;;) {
    const step = await job.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Measures what each trigger takes in the database at `path` and in `logs`; yields its progress.
 * Ending the iteration early stops the job, and so does `signal`.
 *
 * @throws {AppError} `overloaded` when the file cannot be read.
 */
export function measureWholeFile(
  request: UsageRequest,
  signal?: AbortSignal,
): AsyncGenerator<Progress, DatabaseUsage, undefined> {
  const stop = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
  return runJob<DatabaseUsage>({ type: "usage", ...request, stop }, { stop, signal });
}

async function* runJob<Result>(
  job: Job,
  { stop, signal }: {
    readonly stop?: SharedArrayBuffer;
    readonly signal?: AbortSignal | undefined;
  },
): AsyncGenerator<Progress, Result, undefined> {
  const places = placesOf(job);
  const worker = new Worker(import.meta.resolve("#job-worker"), {
    type: "module",
    deno: { permissions: { read: places, write: places } },
  });
  const replies = new Replies(worker);
  const flags = stop === undefined ? undefined : new Int32Array(stop);
  let over = flags === undefined;
  const stopped = Promise.withResolvers<never>();
  stopped.promise.catch(() => {}); // the caller may have stopped waiting
  const onAbort = () =>
    stopped.reject(new AppError("refused", "It was stopped before it was done"));
  signal?.addEventListener("abort", onAbort);
  try {
    if (signal?.aborted === true) onAbort();
    worker.postMessage(job);
    for (;;) {
      const reply = await Promise.race([replies.next(), stopped.promise]);
      over ||= reply.type !== "progress";
      if (reply.type === "failed") throw receiveError(reply.error);
      if (reply.type === "done") return reply.value as Result;
      yield reply.progress;
    }
  } finally {
    signal?.removeEventListener("abort", onAbort);
    // Ending the thread does not end a running SQLite operation: the thread has to be asked to stop
    // first, and does so between two steps of its copying.
    if (flags !== undefined) {
      Atomics.store(flags, STOP, 1);
      Atomics.notify(flags, STOP);
      while (!over && Atomics.load(flags, COPIED) === 0) {
        over = (await replies.next()).type !== "progress";
      }
    }
    worker.terminate();
  }
}

/** The directories that a job uses. */
function placesOf(job: Job): string[] {
  if (job.type === "backup") return [dirname(job.from), dirname(job.to)];
  return job.type === "usage" ? [dirname(job.path), job.logs] : [dirname(job.path)];
}

/** The messages of a thread, one after the other; an uncaught error is the last one. */
class Replies {
  readonly #waiting: JobReply[] = [];
  #take: ((reply: JobReply) => void) | undefined;

  constructor(worker: Worker) {
    worker.onmessage = (event: MessageEvent<JobReply>) => this.#give(event.data);
    worker.onerror = (event) => {
      event.preventDefault();
      const message = `The worker thread of a job ended: ${event.message}`;
      this.#give({ type: "failed", error: { message } });
    };
  }

  next(): Promise<JobReply> {
    const reply = this.#waiting.shift();
    if (reply !== undefined) return Promise.resolve(reply);
    return new Promise((resolve) => this.#take = resolve);
  }

  #give(reply: JobReply): void {
    const take = this.#take;
    this.#take = undefined;
    if (take === undefined) this.#waiting.push(reply);
    else take(reply);
  }
}
