/**
 * Runs up to `workers` tasks in parallel: claims tasks that are ready, runs them, stores their end. At
 * its start it first handles the tasks that a crash interrupted. It never polls: `kick` wakes it, and
 * a timer at the time when the next task is due. Where other daemons share the tasks, it gives up the
 * tasks that they may have claimed, and runs none while its lease is over.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { AppError, findNotNow } from "../../base/errors.ts";
import type { CancelResult, ClaimedTask, Task, TaskNames } from "../../store/task_records.ts";
import type { TaskQueue } from "../../store/task_store.ts";
import type { TurnStore } from "../../store/turn_store.ts";
import { mayHaveChildren, mayHaveTurns } from "../plan.ts";
import { INTERRUPTED, runTask } from "./run_task.ts";
import type { RunHost, RunSignals, TaskResult } from "./task_context.ts";
import { announceEnd } from "./announce_end.ts";
import { isAwaited, storeResult, type TimedResult } from "./store_result.ts";
import { LOST, TaskWrites } from "./task_writes.ts";
import { TASK_MARK } from "../step/inherited_env.ts";
import type { WorkerLoad } from "../worker_load.ts";
import { Activity } from "./activity.ts";
import { noteMove } from "./run_log.ts";
import { clearShortage, pauseAfter, showShortage } from "./short_machine.ts";

/** The parts of the daemon that claim and run tasks. */
export interface WorkerHost extends RunHost {
  readonly store: TaskQueue & RunHost["store"] & Pick<TurnStore, "parkTask">;
  /** Most tasks that run in parallel. */
  readonly workers: number;
  /** Whether the end of this task fires triggers. */
  readonly isFollowed: (task: TaskNames) => boolean;
}

/** The worker as other parts of the daemon see it. */
export interface TaskWorker extends AsyncDisposable {
  /** Claims the pending tasks, and from now on each task that is stored. */
  listen(): void;
  /** Wakes the worker: there may be tasks to claim. */
  kick(): void;
  /** Cancels the tasks among these that run here; the store has marked them as cancelled before. */
  cancel(taskIds: readonly string[], reason?: string): void;
  /** Ends a pending task, or starts to stop a running one. */
  end(task: Task, reason: string): Promise<CancelResult>;
  /** The tasks that run now, and how many could. */
  load(): WorkerLoad;
}

/** How often a crash may interrupt a task before the task fails. */
const MAX_RESTARTS = 3;
/** Reason of a task that a newer one replaces, as its `finally` steps see it. */
const REPLACED = "replaced by a newer task";
/** Longest sleep before the next claim: the clock may be set forward meanwhile. */
const MAX_WAIT_MS = 60_000;

/**
 * Opens a worker, which first handles interrupted tasks. It runs no task before it listens: the steps
 * of a task may ask the daemon for something, so its servers have to be open first.
 */
export async function openWorker(host: WorkerHost): Promise<TaskWorker> {
  const worker = new Worker(host);
  await worker.recover();
  return worker;
}

/** A task that runs, and the controllers that end its run. */
interface Running {
  readonly cancel: AbortController;
  /** Aborts when the worker stops the run. */
  readonly stop: AbortController;
  /** Whether another run has its task, so that its end must not be stored. */
  isLost: boolean;
  readonly over: Promise<void>;
  readonly activity: Activity;
}

/** A request for tasks that the store has not answered yet. */
interface Claim {
  /** Ids of tasks that were cancelled while the claim was under way. */
  readonly cancelled: Set<string>;
  /** Whether the lease ended meanwhile: another daemon may have claimed the same tasks by now. */
  isLate: boolean;
  over: Promise<void>;
}

class Worker implements TaskWorker {
  readonly #host: WorkerHost;
  readonly #stopping = new AbortController();
  readonly #running = new Map<string, Running>();
  readonly #writes: TaskWrites;
  /** Ids of tasks that a former run of this daemon left and that are not handled yet. */
  readonly #recovering = new Set<string>();
  readonly #claims = new Set<Claim>();
  readonly #subscriptions = new DisposableStack();
  /** Most tasks that the unanswered claims together may bring. */
  #asked = 0;
  /**
   * Whether `kick` was called while the unanswered claims had asked for all free places: they may
   * bring fewer tasks, so `kick` has to be repeated.
   */
  #kickAgain = false;
  #timer: Disposable | undefined;
  /** Nothing is claimed before this timer fires, because the machine is short of what tasks need. */
  #rest: (Disposable & { readonly shortage: string }) | undefined;
  #restMs = 0;

  constructor(host: WorkerHost) {
    this.#host = host;
    this.#writes = new TaskWrites(host, this.#stopping.signal);
    host.lease.covers(() => this.#inHand());
  }

  /** Ids of the tasks that this worker runs, or about which it still has to store something. */
  #inHand(): ReadonlySet<string> {
    return new Set([...this.#running.keys(), ...this.#writes.taskIds(), ...this.#recovering]);
  }

  /** Handles the tasks and files that a former run of this daemon has left. */
  async recover(): Promise<void> {
    const { store, runtime } = this.#host;
    const interrupted = await store.claimInterrupted();
    for (const { task } of interrupted) this.#recovering.add(task.id);
    await this.#endProcesses(interrupted);
    await runtime.removeLeft();
    await this.#takeUp(interrupted);
    this.#recovering.clear();
  }

  async #endProcesses(interrupted: readonly ClaimedTask[]): Promise<void> {
    for (const { task } of interrupted) await this.#host.groups.endMarked(TASK_MARK, task.id);
  }

  /** Requeues interrupted tasks whose processes are over; one that was interrupted too often ends. */
  async #takeUp(interrupted: readonly ClaimedTask[]): Promise<void> {
    const { log } = this.#host;
    const { signal } = this.#stopping;
    for (const claimed of interrupted) {
      const { id, restarts, cancelReason } = claimed.task;
      if (restarts <= MAX_RESTARTS) {
        await noteMove(claimed, this.#host, signal); // now, as the next claim comes from this node
        // A cancelled task, too: its `finally` steps have to run.
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
      // Without an id, the next renewal of the lease names the tasks.
      if (taskId !== undefined) this.cancel([taskId], reason);
    }));
    subscriptions.use(events.on("claimsLost", ({ taskIds }) => {
      for (const id of taskIds) this.#giveUp(this.#running.get(id));
    }));
    subscriptions.use(events.on("leaseEnded", () => {
      for (const claim of this.#claims) claim.isLate = true;
      this.#stopAll();
    }));
    subscriptions.use(events.on("leaseRegained", () => this.kick()));
    subscriptions.use(events.on("resourcesStored", () => this.kick())); // a project may have more room
    this.kick();
  }

  kick(): void {
    if (this.#stopping.signal.aborted || this.#rest !== undefined) return;
    if (this.#host.lease.isOver()) return;
    const free = this.#host.workers - this.#running.size - this.#asked;
    if (free <= 0) {
      this.#kickAgain = this.#asked > 0; // without claims, the next task that ends kicks again
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

  async end(task: Task, reason: string): Promise<CancelResult> {
    const now = this.#host.clock.now();
    const end = { reason, now, followed: isAwaited(task, this.#host) };
    const result = await this.#host.store.cancelTask(task.id, end);
    if (result === "stopping") this.cancel([task.id], reason);
    if (result === "cancelled") {
      announceEnd({ ...task, state: "cancelled", reason, finishedAt: now }, this.#host);
      this.kick(); // a task that was queued behind this one may be ready now
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

  /** Interrupts every running task. */
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
    await this.#writes.over();
  }

  /** Claims at most `limit` tasks; several claims may be under way, each for places of its own. */
  async #claim(claim: Claim, limit: number): Promise<void> {
    const { store, clock, log } = this.#host;
    const now = clock.now();
    try {
      const { tasks, interrupted = [], nextAt } = await store.claimTasks(limit, now);
      this.#logMoves([...tasks, ...interrupted]);
      this.#receive(claim, tasks, interrupted);
      const hasNone = tasks.length === 0 && this.#inHand().size === 0 && this.#rest === undefined;
      if (hasNone) clearShortage(this.#host.health);
      this.#wakeAt(nextAt);
    } catch (error) {
      log.error("cannot claim tasks, trying again in a second", { error });
      this.#wakeAt(clock.now() + 1000);
    }
    this.#claims.delete(claim);
    this.#asked -= limit;
    if (!this.#kickAgain) return;
    this.#kickAgain = false;
    this.kick(); // `kick` was called while this claim was under way
  }

  #logMoves(claimed: readonly ClaimedTask[]): void {
    for (const { task, move } of claimed) {
      if (move === undefined) continue;
      const { from, to, isAnew } = move;
      const how = isAnew
        ? "starts over: the files of its steps are on the other node"
        : "continues";
      this.#host.log.info(`task taken over from another node, ${how}`, { task: task.id, from, to });
    }
  }

  /** Starts the tasks that a claim has brought, and takes over those that a dead node left running. */
  #receive(
    claim: Claim,
    tasks: readonly ClaimedTask[],
    interrupted: readonly ClaimedTask[],
  ): void {
    if (this.#host.lease.isOver() || claim.isLate) {
      for (const one of [...tasks, ...interrupted]) {
        this.#writes.add(one.task.id, this.#requeue(one));
      }
      return;
    }
    for (const claimed of tasks) {
      const before = this.#formerRun(claimed);
      if (before === undefined) this.#start(claimed, claim);
      else {this.#writes.add(
          claimed.task.id,
          before.then(() => this.#requeue(claimed)).then(() => this.kick()),
        );}
    }
    for (const claimed of interrupted) {
      this.#writes.add(claimed.task.id, this.#takeOver(claimed));
    }
  }

  /** Requeues a task that a dead node has left running, after its processes on this machine. */
  async #takeOver(claimed: ClaimedTask): Promise<void> {
    await this.#writes.untilStored(claimed.task.id, () => this.#endProcesses([claimed]));
    await this.#takeUp([claimed]);
    this.kick();
  }

  /**
   * Gives up the former run of a task that this worker has claimed anew; resolves when it is over and
   * stored, `undefined` where there is none. Another daemon has taken the task over and put it back, or the
   * answer to the last write was lost. A write of that run would count for the new claim.
   */
  #formerRun({ task: { id } }: ClaimedTask): Promise<unknown> | undefined {
    const run = this.#running.get(id);
    const writes = this.#writes.of(id);
    if (run === undefined && writes.length === 0) return undefined;
    this.#giveUp(run);
    return Promise.all([run?.over, ...writes]);
  }

  /** Ends a run whose task another one has: nothing more of it is stored. */
  #giveUp(run: Running | undefined): void {
    if (run !== undefined) run.isLost = true;
    run?.stop.abort();
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
    const over = this.#runToEnd(claimed, { cancel: cancel.signal, stop: stop.signal }, activity);
    this.#running.set(id, { cancel, stop, isLost: false, activity, over });
  }

  async #runToEnd(claimed: ClaimedTask, signals: RunSignals, activity: Activity): Promise<void> {
    const since = this.#host.clock.monotonicMs();
    const ended = await this.#resultOf(claimed, signals, activity);
    const result = { ...ended, activeMs: Math.round(this.#host.clock.monotonicMs() - since) };
    const { id } = claimed.task;
    const isLost = this.#running.get(id)?.isLost === true;
    this.#running.delete(id);
    if (result.shortage === undefined) this.#restMs = 0;
    else this.#restFor(result.shortage);
    if (isLost) this.#host.log.info("task given up", { task: id, why: LOST });
    else this.#writes.add(id, this.#finish(claimed, result).then(() => this.#kickAfter(claimed)));
    this.kick(); // so the store gets the claim with the end, which makes place for the next task
  }

  /** The claim that goes with the end of a run comes too early where turns or children had to end first. */
  #kickAfter({ plan }: ClaimedTask): void {
    if (mayHaveTurns(plan) || mayHaveChildren(plan)) this.kick();
  }

  /** Claims nothing for a while, longer each time, because each task needs what the machine lacks. */
  #restFor(shortage: string): void {
    showShortage(shortage, this.#host.health);
    if (this.#rest !== undefined || this.#stopping.signal.aborted) return;
    this.#restMs = pauseAfter(this.#restMs);
    const timer = this.#host.clock.after(this.#restMs, () => {
      this.#rest = undefined;
      this.kick();
    });
    this.#rest = { shortage, [Symbol.dispose]: () => timer[Symbol.dispose]() };
  }

  /**
   * Runs a task; returns how it ended. A bug ends it, too; a refusal of the store after the stop does
   * not. If the machine was short of something, the task is given back.
   */
  async #resultOf(
    claimed: ClaimedTask,
    signals: RunSignals,
    activity: Activity,
  ): Promise<TaskResult> {
    try {
      return await runTask(claimed, this.#host, signals, activity);
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

  /** Gives back a task whose processes are over, so that it is claimed again. */
  #requeue(claimed: ClaimedTask): Promise<void> {
    return this.#finish(claimed, INTERRUPTED);
  }

  #finish(claimed: ClaimedTask, result: TimedResult): Promise<void> {
    return storeResult(claimed, result, this.#host, this.#writes);
  }
}
