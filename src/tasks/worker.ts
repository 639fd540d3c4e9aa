/**
 * Runs tasks side by side, up to `workers` of them: claims pending ones, runs them, stores their end.
 * At the start it first takes up what a crash left (contract 7). Woken by `kick`; never polls.
 *
 * @module
 */

import type { Log } from "../base/log.ts";
import type { ClaimedTask } from "../store/task_records.ts";
import { insist } from "./insist.ts";
import { type RunHost, runTask, TASK_MARK, type TaskResult } from "./run_task.ts";

/** What the worker needs. */
export interface WorkerHost extends RunHost {
  /** Most tasks at once. */
  readonly workers: number;
  /** The daemon's log. */
  readonly log: Log;
}

/** A running worker. */
export interface TaskWorker extends AsyncDisposable {
  /** There may be something to do. */
  kick(): void;
}

/** How often a task may be interrupted by a crash before it is given up (contract 7). */
const MAX_RESTARTS = 3;

/** Takes up what is left from before, then everything that comes. */
export async function startWorker(host: WorkerHost): Promise<TaskWorker> {
  const worker = new Worker(host);
  await worker.recover();
  worker.kick();
  return worker;
}

class Worker implements TaskWorker {
  readonly #host: WorkerHost;
  readonly #stopping = new AbortController();
  readonly #running = new Set<Promise<void>>();
  #claiming: Promise<void> | undefined;
  #again = false;

  constructor(host: WorkerHost) {
    this.#host = host;
  }

  /** Ends leftover processes of interrupted tasks, then runs these tasks on or gives them up. */
  async recover(): Promise<void> {
    const { store, clock, groups, log } = this.#host;
    const interrupted = await store.claimInterrupted(clock.now());
    for (const { task } of interrupted) await groups.endMarked(TASK_MARK, task.id);
    await store.countRestarts(interrupted.map(({ task }) => task.id));
    for (const claimed of interrupted) {
      if (claimed.task.restarts < MAX_RESTARTS) {
        await store.requeueTask(claimed.task.id);
        log.info("task goes on after an interruption", { task: claimed.task.id });
      } else {
        await this.#finish(claimed, { state: "failed", reason: "interrupted" });
      }
    }
  }

  kick(): void {
    if (this.#stopping.signal.aborted) return;
    this.#again = true;
    this.#claiming ??= this.#claim().finally(() => this.#claiming = undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#claiming;
    await Promise.all(this.#running);
  }

  async #claim(): Promise<void> {
    const { store, clock, log } = this.#host;
    try {
      while (this.#again && !this.#stopping.signal.aborted) {
        this.#again = false;
        const free = this.#host.workers - this.#running.size;
        if (free <= 0) return; // the next one that ends kicks again
        const claimed = await store.claimTasks(free, clock.now());
        for (const task of claimed) this.#start(task);
      }
    } catch (error) {
      log.error("cannot take up tasks, trying again in a second", { error });
      setTimeout(() => this.kick(), 1000);
    }
  }

  #start(claimed: ClaimedTask): void {
    const run = this.#run(claimed).finally(() => {
      this.#running.delete(run);
      this.kick();
    });
    this.#running.add(run);
  }

  async #run(claimed: ClaimedTask): Promise<void> {
    const { log } = this.#host;
    const task = claimed.task.id;
    try {
      await this.#finish(claimed, await runTask(claimed, this.#host, this.#stopping.signal));
    } catch (error) {
      log.error("task failed inside svc", { task, error });
      const reason = "internal error, see the daemon's log";
      await this.#finish(claimed, { state: "failed", reason }).catch((cause) =>
        log.error("the end of a task could not be stored", { task, error: cause })
      );
    }
  }

  async #finish({ task }: ClaimedTask, result: TaskResult): Promise<void> {
    const { store, clock, log } = this.#host;
    const { state, reason } = result;
    const { signal } = this.#stopping;
    if (state === "interrupted") return await insist(() => store.requeueTask(task.id), signal);
    const now = clock.now();
    await insist(() => store.finishTask({ taskId: task.id, state, reason, now }), signal);
    log.info("task ended", { task: task.id, state, ...(reason === "" ? {} : { reason }) });
  }
}
