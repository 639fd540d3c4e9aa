/**
 * Runs tasks side by side, up to `workers` of them: claims what is ready, runs it, stores its end.
 * At the start it first takes up what a crash left. Woken by `kick` and by the time at which the
 * next task is due; never polls.
 *
 * @module
 */

import type { Log } from "../../base/log.ts";
import type { Cancelled, ClaimedTask, Task } from "../../store/task_records.ts";
import type { TaskQueue, TaskRecorder } from "../../store/task_store.ts";
import { retryWhileOverloaded } from "../../base/retry_while_overloaded.ts";
import { runTask, type TaskResult } from "./run_task.ts";
import { TASK_MARK } from "../step/step_env.ts";
import { removeLeftFiles } from "../step/task_files.ts";
import type { RunHost } from "./task_context.ts";

/** What the worker needs. */
export interface WorkerHost extends RunHost {
  /** Where tasks wait, and where their steps are recorded. */
  readonly store: TaskQueue & TaskRecorder;
  /** Most tasks at once. */
  readonly workers: number;
  readonly log: Log;
  /** Whether triggers follow the ends of tasks of this workflow. */
  readonly isFollowed: (task: Pick<Task, "project" | "workflow">) => boolean;
}

/** A running worker. */
export interface TaskWorker extends AsyncDisposable {
  /** There may be something to do. */
  kick(): void;
  /** The store says that these tasks are to end: those that run are stopped. */
  cancel(taskIds: readonly string[]): void;
  /** Ends a task that waits, or begins to end one that runs. */
  end(task: Task, reason: string): Promise<Cancelled>;
}

/** How often a task may be interrupted by a crash before it is given up. */
const MAX_RESTARTS = 3;
/** Longest time until the next claim: the clock may be set forward meanwhile. */
const MAX_WAIT_MS = 60_000;

/** Takes up what is left from before, then everything that comes. */
export async function startWorker(host: WorkerHost): Promise<TaskWorker> {
  const worker = new Worker(host);
  await worker.recover();
  worker.listen();
  return worker;
}

/** A task that runs. */
interface Running {
  readonly cancel: AbortController;
  readonly over: Promise<void>;
}

/** Tasks that have been asked for. */
interface Claim {
  /** Those that were cancelled while they were being handed over. */
  readonly cancelled: Set<string>;
  over: Promise<void>;
}

class Worker implements TaskWorker {
  readonly #host: WorkerHost;
  readonly #stopping = new AbortController();
  readonly #running = new Map<string, Running>();
  readonly #storing = new Set<Promise<void>>();
  readonly #claims = new Set<Claim>();
  #subscription: Disposable | undefined;
  /** Most tasks that the claims under way may bring. */
  #asked = 0;
  /**
   * Whether somebody kicked while all room was taken by claims under way, which may bring nothing.
   */
  #again = false;
  #timer: Disposable | undefined;

  constructor(host: WorkerHost) {
    this.#host = host;
  }

  /** Ends leftover processes of interrupted tasks, then runs these tasks on or gives them up. */
  async recover(): Promise<void> {
    const { store, groups, log, dirs } = this.#host;
    const interrupted = await store.claimInterrupted();
    for (const { task } of interrupted) await groups.endMarked(TASK_MARK, task.id);
    await removeLeftFiles(dirs.run);
    await store.countRestarts(interrupted.map(({ task }) => task.id));
    for (const claimed of interrupted) {
      const { id, restarts, cancelReason } = claimed.task;
      if (restarts < MAX_RESTARTS) {
        await store.requeueTask(id); // one that is cancelled, too: its `finally` steps have to run
        log.info("task goes on after an interruption", { task: id });
      } else {
        const state = cancelReason === "" ? "failed" : "cancelled";
        await this.#finish(claimed, { state, reason: "interrupted" });
      }
    }
  }

  /** Takes up what waits, and from here on whatever is stored. */
  listen(): void {
    this.#subscription = this.#host.events.on("tasksStored", ({ replaced }) => {
      this.cancel(replaced);
      this.kick();
    });
    this.kick();
  }

  kick(): void {
    if (this.#stopping.signal.aborted) return;
    const free = this.#host.workers - this.#running.size - this.#asked;
    if (free <= 0) {
      this.#again = this.#asked > 0; // else the next one that ends kicks again
      return;
    }
    this.#asked += free;
    const claim: Claim = { cancelled: new Set(), over: Promise.resolve() };
    this.#claims.add(claim);
    claim.over = this.#claim(claim, free);
  }

  cancel(taskIds: readonly string[]): void {
    for (const id of taskIds) {
      const running = this.#running.get(id);
      if (running !== undefined) running.cancel.abort();
      else for (const { cancelled } of this.#claims) cancelled.add(id);
    }
  }

  async end(task: Task, reason: string): Promise<Cancelled> {
    const { store, clock, log, isFollowed, events } = this.#host;
    const now = clock.now();
    const end = { reason, now, followed: isFollowed(task) };
    const result = await store.cancelTask(task.id, end);
    if (result === "stopping") this.cancel([task.id]);
    if (result === "cancelled") {
      log.info("task ended", { task: task.id, state: "cancelled", reason });
      const ended: Task = { ...task, state: "cancelled", reason, finishedAt: now };
      events.publish("taskEnded", { task: ended, followed: end.followed });
      this.kick(); // another one may have room now
    }
    return result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.#timer?.[Symbol.dispose]();
    this.#subscription?.[Symbol.dispose]();
    await Promise.all([...this.#claims].map(({ over }) => over));
    await Promise.all([...this.#running.values()].map(({ over }) => over));
    await Promise.all(this.#storing);
  }

  /** Takes up at most `limit` tasks; several claims may be under way, for different room. */
  async #claim(claim: Claim, limit: number): Promise<void> {
    const { store, clock, log, events } = this.#host;
    const now = clock.now();
    try {
      const { tasks, nextAt } = await store.claimTasks(limit, now);
      for (const claimed of tasks) {
        if (claimed.task.startedAt === now) events.publish("taskStarted", claimed.task);
        this.#start(claimed, claim);
      }
      this.#wakeAt(nextAt);
    } catch (error) {
      log.error("cannot take up tasks, trying again in a second", { error });
      this.#wakeAt(clock.now() + 1000);
    }
    this.#claims.delete(claim);
    this.#asked -= limit;
    if (!this.#again) return;
    this.#again = false;
    this.kick(); // a kick came while this claim was under way
  }

  #wakeAt(time: number | undefined): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    if (time === undefined || this.#stopping.signal.aborted) return;
    const waitMs = Math.min(Math.max(0, time - this.#host.clock.now()), MAX_WAIT_MS);
    this.#timer = this.#host.clock.after(waitMs, () => this.kick());
  }

  #start(claimed: ClaimedTask, { cancelled }: Claim): void {
    const { id, cancelReason } = claimed.task;
    const cancel = new AbortController();
    if (cancelReason !== "" || cancelled.has(id)) cancel.abort();
    this.#running.set(id, { cancel, over: this.#runToEnd(claimed, cancel.signal) });
  }

  async #runToEnd(claimed: ClaimedTask, cancel: AbortSignal): Promise<void> {
    const result = await this.#resultOf(claimed, cancel);
    this.#running.delete(claimed.task.id);
    const stored = this.#finish(claimed, result)
      .catch((error) =>
        this.#host.log.error("the end of a task could not be stored", {
          task: claimed.task.id,
          error,
        })
      )
      .finally(() => this.#storing.delete(stored));
    this.#storing.add(stored);
    this.kick(); // in one go to the store with the end: the room this task had is free for the next
  }

  /** How the task ended; a bug ends it, too. */
  async #resultOf(claimed: ClaimedTask, cancel: AbortSignal): Promise<TaskResult> {
    try {
      return await runTask(claimed, this.#host, { stop: this.#stopping.signal, cancel });
    } catch (error) {
      this.#host.log.error("task failed inside svc", { task: claimed.task.id, error });
      return { state: "failed", reason: "internal error, see the daemon's log" };
    }
  }

  async #finish({ task }: ClaimedTask, result: TaskResult): Promise<void> {
    const { store, clock, log, isFollowed, events } = this.#host;
    const { state, reason, steps = [] } = result;
    const { signal } = this.#stopping;
    if (state === "interrupted") {
      return await retryWhileOverloaded(() => store.requeueTask(task.id), { clock, signal });
    }
    const end = { state, reason, now: clock.now(), followed: isFollowed(task) };
    await retryWhileOverloaded(
      () => store.finishTask({ ...end, taskId: task.id, steps }),
      { clock, signal },
    );
    log.info("task ended", { task: task.id, state, ...(reason === "" ? {} : { reason }) });
    const ended: Task = { ...task, state, reason, finishedAt: end.now };
    events.publish("taskEnded", { task: ended, followed: end.followed });
  }
}
