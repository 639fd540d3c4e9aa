/**
 * Runs a long job on a database file in a thread of its own, which has access only to the
 * directories of that job and ends with it.
 *
 * @module
 */

import { dirname } from "node:path";
import type { BackupFacts, CheckFacts, Progress } from "../../maintenance.ts";
import { type Job, type JobReply, receiveError } from "../protocol.ts";

/**
 * Copies the database `from` into the empty file `to`; yields its progress. Ending the iteration
 * early stops the job.
 *
 * @throws {AppError} `refused` or `overloaded` when the copy cannot be made or is not sound.
 */
export function backUpFile(
  files: { readonly from: string; readonly to: string },
): AsyncGenerator<Progress, BackupFacts, undefined> {
  const stop = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  return runJob<BackupFacts>({ type: "backup", ...files, stop }, stop);
}

/** Checks the database at `path`, every page and every table; yields its progress. */
export function checkWholeFile(path: string): AsyncGenerator<Progress, CheckFacts, undefined> {
  return runJob<CheckFacts>({ type: "check", path });
}

async function* runJob<Result>(
  job: Job,
  stop?: SharedArrayBuffer,
): AsyncGenerator<Progress, Result, undefined> {
  const directories = job.type === "check" ? [job.path] : [job.from, job.to];
  const places = directories.map((path) => dirname(path));
  const worker = new Worker(import.meta.resolve("#job-worker"), {
    type: "module",
    deno: { permissions: { read: places, write: places } },
  });
  const replies = new Replies(worker);
  let over = false;
  try {
    worker.postMessage(job);
    for (;;) {
      const reply = await replies.next();
      over = reply.type !== "progress";
      if (reply.type === "failed") throw receiveError(reply.error);
      if (reply.type === "done") return reply.value as Result;
      yield reply.progress;
    }
  } finally {
    // Ending the thread does not end a running SQLite operation: the thread has to be asked to stop
    // first.
    if (stop !== undefined) {
      Atomics.store(new Int32Array(stop), 0, 1);
      Atomics.notify(new Int32Array(stop), 0);
    }
    while (!over && stop !== undefined) over = (await replies.next()).type !== "progress";
    worker.terminate();
  }
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
