/**
 * Runs tasks in parallel, up to `workers` of them: claims those that are ready, runs them, stores
 * their end. At its start it first handles tasks that a crash interrupted. It never polls: `kick`
 * wakes it, and the time at which the next task is due. Where other daemons share the tasks, it lets
 * go of those that they may have, and runs none while its lease is over.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { AppError, findNotNow } from "../../base/errors.ts";
import type { Core } from "../../base/core.ts";
import type { Cancelled, ClaimedTask, StepRecord, Task } from "../../store/task_records.ts";
import type { TaskQueue, TaskRecorder } from "../../store/task_store.ts";
import { retryUntilStored } from "../../base/retry_while_overloaded.ts";
import { INTERRUPTED, runTask } from "./run_task.ts";
import type { TaskResult } from "./task_result.ts";
import { TASK_MARK } from "../step/step_env.ts";
import type { WorkerLoad } from "../worker_load.ts";
import { Activity } from "./activity.ts";
import { noteMove } from "./note_move.ts";
import { clearShortage, pauseAfter, showShortage } from "./short_machine.ts";
import { removeLeftFiles } from "../step/task_files.ts";
import type { RunHost, RunSignals } from "./task_context.ts";

/** What the worker needs. */
export interface WorkerHost extends Core, RunHost {
  readonly store: TaskQueue & TaskRecorder;
  /** Most tasks that run in parallel. */
  readonly workers: number;
  /** Whether the end of this task fires triggers. */
  readonly isFollowed: (task: Pick<Task, "project" | "workflow" | "trigger">) => boolean;
}

/** A worker. */
export interface TaskWorker extends AsyncDisposable {
  /** Claims the pending tasks, and from now on every stored task. */
  listen(): void;
  /** Wakes the worker: there may be tasks to claim. */
  kick(): void;
  /** Stops those of these tasks that run; the store has marked them already. */
  cancel(taskIds: readonly string[], reason?: string): void;
  /** Ends a pending task, or starts to stop a running one. */
  end(task: Task, reason: string): Promise<Cancelled>;
  /** How busy it is now. */
  load(): WorkerLoad;
}

/** How often a crash may interrupt a task before it is given up. */
const MAX_RESTARTS = 3;
/** Reason of a task that another one replaces, as its `finally` steps are told. */
const REPLACED = "replaced by a newer task";
/** Longest sleep before the next claim, because the clock may be set forward meanwhile. */
const MAX_WAIT_MS = 60_000;
/** Why a task that another daemon has claimed is let go of. */
const LOST = "another node runs it now";

/**
 * Opens a worker, which first handles interrupted tasks. It runs none before it listens: their steps
 * may ask the daemon for something, which has to be there to answer.
 */
export async function openWorker(host: WorkerHost): Promise<TaskWorker> {
  const worker = new Worker(host);
  await worker.recover();
  return worker;
}

/** A running task. */
interface Running {
  readonly cancel: AbortController;
  /** Aborts when the worker lets go of it; its reason is `LOST` when there is nothing left to say. */
  readonly stop: AbortController;
  readonly over: Promise<void>;
  readonly activity: Activity;
}

/** A request for tasks that the store has not answered yet. */
interface Claim {
  /** Ids of tasks that were cancelled while the claim was under way. */
  readonly cancelled: Set<string>;
  /** Whether the lease ended while it was under way: what it brings may be another's by now. */
  isLate: boolean;
  over: Promise<void>;
}

class Worker implements TaskWorker {
  readonly #host: WorkerHost;
  readonly #stopping = new AbortController();
  readonly #running = new Map<string, Running>();
  /** What is being stored of a task, with its id. */
  readonly #storing = new Map<Promise<void>, string>();
  /** Tasks of a former run of this daemon that are being taken up. */
  readonly #recovering = new Set<string>();
  readonly #claims = new Set<Claim>();
  readonly #subscriptions = new DisposableStack();
  /** Most tasks that the unanswered claims may bring. */
  #asked = 0;
  /** Whether `kick` was called while unanswered claims, which may bring nothing, had all room. */
  #kickAgain = false;
  #timer: Disposable | undefined;
  /** Claims nothing before it fires: the machine is short of what tasks need. */
  #rest: (Disposable & { readonly shortage: string }) | undefined;
  #restMs = 0;

  constructor(host: WorkerHost) {
    this.#host = host;
    host.lease.covers(() => this.#inHand());
  }

  /** The tasks that it runs, or of which it still has to store something. */
  #inHand(): ReadonlySet<string> {
    return new Set([...this.#running.keys(), ...this.#storing.values(), ...this.#recovering]);
  }

  /** Takes up what a former run of this daemon has left. */
  async recover(): Promise<void> {
    const { store, dirs } = this.#host;
    const interrupted = await store.claimInterrupted();
    for (const { task } of interrupted) this.#recovering.add(task.id);
    await this.#endLeftover(interrupted);
    await removeLeftFiles(dirs.run);
    await this.#takeUp(interrupted);
    this.#recovering.clear();
  }

  async #endLeftover(interrupted: readonly ClaimedTask[]): Promise<void> {
    for (const { task } of interrupted) await this.#host.groups.endMarked(TASK_MARK, task.id);
  }

  /** Requeues interrupted tasks, of which no process is left, or gives them up. */
  async #takeUp(interrupted: readonly ClaimedTask[]): Promise<void> {
    const { log } = this.#host;
    const { signal } = this.#stopping;
    for (const claimed of interrupted) {
      const { id, restarts, cancelReason } = claimed.task;
      if (restarts <= MAX_RESTARTS) {
        await noteMove(claimed, this.#host, signal); // the next claim is not from another node
        // a cancelled task too, because its `finally` steps have to run
        await this.#requeue(claimed);
        log.info("task continues after an interruption", { task: id });
      } else {
        const state = cancelReason === "" ? "failed" : "cancelled";
        await this.#finish(claimed, { state, reason: "interrupted" });
      }
    }
  }

  listen(): void {
    const { events } = this.#host;
    const subscriptions = this.#subscriptions;
    subscriptions.use(events.on("tasksStored", ({ replaced }) => {
      this.cancel(replaced, REPLACED);
      this.kick();
    }));
    subscriptions.use(events.on("taskStopping", ({ taskId, reason }) => {
      if (taskId !== undefined) this.cancel([taskId], reason); // else the next renewal says which
    }));
    subscriptions.use(events.on("claimsLost", ({ taskIds }) => {
      for (const id of taskIds) this.#running.get(id)?.stop.abort(LOST);
    }));
    subscriptions.use(events.on("leaseEnded", () => {
      for (const claim of this.#claims) claim.isLate = true;
      this.#stopAll();
    }));
    subscriptions.use(events.on("leaseRegained", () => this.kick()));
    this.kick();
  }

  kick(): void {
    if (this.#stopping.signal.aborted || this.#rest !== undefined) return;
    if (this.#host.lease.isOver()) return;
    const free = this.#host.workers - this.#running.size - this.#asked;
    if (free <= 0) {
      this.#kickAgain = this.#asked > 0; // else the next task that ends kicks again
      return;
    }
    this.#asked += free;
    const claim: Claim = { cancelled: new Set(), isLate: false, over: Promise.resolve() };
    this.#claims.add(claim);
    claim.over = this.#claim(claim, free);
  }

  cancel(taskIds: readonly string[], reason = ""): void {
    for (const id of taskIds) {
      const running = this.#running.get(id);
      if (running !== undefined) running.cancel.abort(reason);
      else for (const { cancelled } of this.#claims) cancelled.add(id);
    }
  }

  async end(task: Task, reason: string): Promise<Cancelled> {
    const { store, clock, log, isFollowed, events } = this.#host;
    const now = clock.now();
    const end = { reason, now, followed: isFollowed(task) };
    const result = await store.cancelTask(task.id, end);
    if (result === "stopping") this.cancel([task.id], reason);
    if (result === "cancelled") {
      log.info("task ended", { task: task.id, state: "cancelled", reason });
      const ended: Task = { ...task, state: "cancelled", reason, finishedAt: now };
      events.publish("taskEnded", { task: ended });
      this.kick(); // another task may have room now
    }
    return result;
  }

  load(): WorkerLoad {
    return {
      workers: this.#host.workers,
      running: Array.from(this.#running, ([id, { activity }]) => activity.of(id)),
      ...defined({ shortage: this.#rest?.shortage }),
    };
  }

  /** Ends every running task as an interruption does. */
  #stopAll(): void {
    for (const { stop } of this.#running.values()) stop.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.#timer?.[Symbol.dispose]();
    this.#rest?.[Symbol.dispose]();
    this.#subscriptions.dispose();
    this.#stopAll();
    await Promise.all([...this.#claims].map(({ over }) => over));
    await Promise.all([...this.#running.values()].map(({ over }) => over));
    await Promise.all(this.#storing.keys());
  }

  /** Claims at most `limit` tasks; several claims may be under way, for different room. */
  async #claim(claim: Claim, limit: number): Promise<void> {
    const { store, clock, log, lease } = this.#host;
    const now = clock.now();
    try {
      const { tasks, interrupted = [], nextAt } = await store.claimTasks(limit, now);
      for (const { task, move } of [...tasks, ...interrupted]) {
        if (move === undefined) continue;
        const { from, to, isAnew } = move;
        const how = isAnew
          ? "starts over: the files of its steps are on the other node"
          : "continues";
        log.info(`task taken over from another node, ${how}`, { task: task.id, from, to });
      }
      if (lease.isOver() || claim.isLate) {
        for (const one of [...tasks, ...interrupted]) this.#keepStoring(one, this.#requeue(one));
      } else {
        for (const claimed of tasks) {
          const before = this.#formerRun(claimed);
          if (before === undefined) this.#start(claimed, claim);
          else this.#keepStoring(claimed, before.then(() => this.#requeueAndKick(claimed)));
        }
        for (const claimed of interrupted) this.#keepStoring(claimed, this.#takeOver(claimed));
      }
      const waitsNone = tasks.length === 0 && this.#inHand().size === 0;
      if (waitsNone && this.#rest === undefined) clearShortage(this.#host);
      this.#wakeAt(nextAt);
    } catch (error) {
      log.error("cannot claim tasks, trying again in a second", { error });
      this.#wakeAt(clock.now() + 1000);
    }
    this.#claims.delete(claim);
    this.#asked -= limit;
    if (!this.#kickAgain) return;
    this.#kickAgain = false;
    this.kick(); // a kick came while this claim was under way
  }

  /** Takes up what a node that is gone has left running, maybe on this machine. */
  async #takeOver(claimed: ClaimedTask): Promise<void> {
    await this.#store([claimed.task.id], () => this.#endLeftover([claimed]));
    await this.#takeUp([claimed]);
    this.kick();
  }

  /**
   * Resolves when this worker has nothing more to store of a task that it has claimed anew;
   * `undefined` where it has nothing: the answer to what it stored last may have been lost, and what
   * is told again would be of the new claim.
   */
  #formerRun({ task }: ClaimedTask): Promise<unknown> | undefined {
    const over = this.#running.get(task.id)?.over;
    const storing = [...this.#storing].filter(([, id]) => id === task.id).map(([stored]) => stored);
    return over === undefined && storing.length === 0 ? undefined : Promise.all([over, ...storing]);
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
    const [cancel, stop] = [new AbortController(), new AbortController()];
    if (this.#stopping.signal.aborted) stop.abort();
    if (cancelReason !== "" || cancelled.has(id)) cancel.abort(cancelReason);
    const activity = new Activity(this.#host.clock);
    const over = this.#runToEnd(claimed, { cancel: cancel.signal, stop: stop.signal, activity });
    this.#running.set(id, { cancel, stop, activity, over });
  }

  async #runToEnd(claimed: ClaimedTask, signals: RunSignals): Promise<void> {
    const result = await this.#resultOf(claimed, signals);
    const { id } = claimed.task;
    this.#running.delete(id);
    if (result.shortage === undefined) this.#restMs = 0;
    else this.#restFor(result.shortage);
    if (signals.stop.reason === LOST) {
      this.#host.log.info("task given up", { task: id, why: LOST });
    } else this.#keepStoring(claimed, this.#finish(claimed, result));
    this.kick(); // sent to the store together with the end, whose room is free for the next task
  }

  /** Claims nothing for a while, longer each time: every task needs what this one could not have. */
  #restFor(shortage: string): void {
    showShortage(shortage, this.#host);
    if (this.#rest !== undefined || this.#stopping.signal.aborted) return;
    this.#restMs = pauseAfter(this.#restMs);
    const timer = this.#host.clock.after(this.#restMs, () => {
      this.#rest = undefined;
      this.kick();
    });
    this.#rest = { shortage, [Symbol.dispose]: () => timer[Symbol.dispose]() };
  }

  /** What is stored of a task is waited for when the worker closes. */
  #keepStoring({ task }: ClaimedTask, storing: Promise<void>): void {
    const { log } = this.#host;
    const stored = storing
      .catch((error) => {
        if (isRefused(error)) log.info("task given up", { task: task.id, why: LOST });
        else log.error("the result of a task could not be stored", { task: task.id, error });
      })
      .finally(() => this.#storing.delete(stored));
    this.#storing.set(stored, task.id);
  }

  /**
   * How the task ended; a bug ends it, too, but no refusal of the store after its stop. What the
   * machine was short of is no fault of the task, which is given back.
   */
  async #resultOf(claimed: ClaimedTask, signals: RunSignals): Promise<TaskResult> {
    try {
      return await runTask(claimed, this.#host, signals);
    } catch (error) {
      if (signals.stop.aborted && error instanceof AppError) return INTERRUPTED;
      const notNow = findNotNow(error);
      if (notNow !== undefined) {
        this.#host.log.warn("a task waits for resources of the machine", {
          task: claimed.task.id,
          reason: notNow.message,
        });
        return { ...INTERRUPTED, shortage: notNow.message };
      }
      this.#host.log.error("task failed inside svc", { task: claimed.task.id, error });
      return { state: "failed", reason: "internal error, see the daemon's log" };
    }
  }

  /** Gives a task back, of which no process is left, so that it is claimed anew. */
  async #requeue({ task }: ClaimedTask, steps: readonly StepRecord[] = []): Promise<void> {
    await this.#store([task.id], () => this.#host.store.requeueTask(task.id, steps));
  }

  async #requeueAndKick(claimed: ClaimedTask): Promise<void> {
    await this.#requeue(claimed);
    this.kick();
  }

  /** Stores what nobody else knows of these tasks, however long that takes. */
  #store<T>(taskIds: readonly string[], write: () => Promise<T>): Promise<T> {
    const { clock, log } = this.#host;
    return retryUntilStored(write, {
      clock,
      signal: this.#stopping.signal,
      onFault: (error) =>
        log.error("the result of a task cannot be stored yet, trying again", {
          task: taskIds.join(" "),
          error,
        }),
    });
  }

  async #finish(claimed: ClaimedTask, result: TaskResult): Promise<void> {
    const { store, clock, log, isFollowed, events } = this.#host;
    const { task } = claimed;
    const { state, reason, steps = [] } = result;
    if (state === "interrupted") return await this.#requeue(claimed, steps);
    const end = { state, reason, now: clock.now(), followed: isFollowed(task) };
    await this.#store([task.id], () => store.finishTask({ ...end, taskId: task.id, steps }));
    log.info("task ended", { task: task.id, state, ...(reason === "" ? {} : { reason }) });
    const ended: Task = { ...task, state, reason, finishedAt: end.now };
    events.publish("taskEnded", { task: ended });
  }
}

/** Whether the store has refused to let this daemon write of a task. */
const isRefused = (error: unknown) => error instanceof AppError && error.code === "conflict";
