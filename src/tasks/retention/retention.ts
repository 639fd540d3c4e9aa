/**
 * Retention of tasks, deliveries and chat events by age, and of tasks also by number per trigger: a
 * few at a time, so that requests do not wait long, together with the files of a task. Pending and
 * running tasks stay.
 *
 * @module
 */

import type { HealthConditions } from "../../base/health_conditions.ts";
import type { Clock } from "../../base/clock.ts";
import type { DataDir } from "../../base/data_dir.ts";
import { messageOf } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { LogStore } from "../../store/log_store.ts";
import type { RetentionStore } from "../../store/retention_store.ts";
import type { TaskStore } from "../../store/task_store.ts";
import { dedupTimesIn } from "../../intake/admission/dedup_times.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { removeOrphans } from "./orphans.ts";

/** How much to keep. */
export interface RetentionLimits {
  /** Days since the end of a task or the arrival of a delivery; 0 for ever. */
  readonly days: number;
  /** Tasks of each trigger; 0 for any number. */
  readonly perTrigger: number;
}

/** What retention needs. */
export interface RetentionHost {
  /** Says how long deduplication needs deliveries. */
  readonly catalog: Catalog;
  readonly store: RetentionStore & TaskStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly logs: LogStore;
  /** Directories of tasks are there. */
  readonly dirs: DataDir;
  /** Where a failure is shown. */
  readonly health?: HealthConditions;
  readonly keep: RetentionLimits;
  /** Removes the task's own directory, if it has one, and commits that are kept for it. */
  readonly discard: (
    task: { readonly id: string; readonly directory: string },
    signal: AbortSignal,
  ) => Promise<unknown>;
}

/** Time between two rounds. */
const INTERVAL_MS = 5 * 60_000;
/** Delay of the first round, because the daemon has other work right after its start. */
const FIRST_ROUND_MS = 10_000;
/** Rows removed in one transaction: some 5 ms, for which a request may have to wait. */
const BATCH_SIZE = 50;
/** Pause between two transactions. */
const PAUSE_MS = 12;
/**
 * Calls without a removal that end a round: each call reads a part of the rows and continues there.
 */
const IDLE_CALLS = 40;
/** Days for which ended messages are kept where tasks are kept for ever. */
const KEEP_MESSAGES_DAYS = 30;
const DAY_MS = 24 * 3600 * 1000;

/** Starts to prune at regular intervals, until disposed. */
export function startRetention(host: RetentionHost): AsyncDisposable {
  const stopping = new AbortController();
  const { signal } = stopping;
  // A round that failed, mostly because the database could not be written, is repeated soon.
  const orphans = async () => {
    do {
      await host.clock.pause(FIRST_ROUND_MS, signal);
    } while (!signal.aborted && !await isDone(host, () => removeOrphans(host, signal)));
  };
  const prunes = async () => {
    for (let ms = FIRST_ROUND_MS;;) {
      await host.clock.pause(ms, signal);
      if (signal.aborted) return;
      ms = await isDone(host, () => prune(host, signal)) ? INTERVAL_MS : FIRST_ROUND_MS;
    }
  };
  const work = Promise.all([orphans(), prunes()]);
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await work;
    },
  };
}

/** Does one round of work; a failure is logged, and shown in `svc status` until a round succeeds. */
async function isDone(host: RetentionHost, work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    host.health?.clear("retention");
    return true;
  } catch (error) {
    host.log.warn("old tasks could not be removed, trying again soon", { error });
    host.health?.set("retention", `old tasks could not be removed: ${messageOf(error)}`);
    return false;
  }
}

/** Removes everything beyond `host.keep`. */
export async function prune(host: RetentionHost, signal: AbortSignal): Promise<void> {
  const { store, clock, log, keep } = host;
  const aged = keep.days === 0 ? 0 : clock.now() - keep.days * DAY_MS;
  const tasks = await inSteps(clock, signal, async () => {
    const removed = await store.pruneTasks({
      before: aged,
      limit: BATCH_SIZE,
      ...(keep.perTrigger === 0 ? {} : { keep: keep.perTrigger }),
    });
    for (const task of removed) await removeFiles(task, host, signal);
    return removed.length;
  });
  // Deduplication needs the deliveries of this span, however little is to be kept.
  const before = Math.min(aged, clock.now() - dedupTimesIn(host.catalog).others.dedupKeepMs);
  // Before the deliveries: an event that can be replayed needs the content of its delivery.
  const sourceEvents = await inSteps(
    clock,
    signal,
    () => store.pruneSourceEvents({ before, limit: BATCH_SIZE }),
  );
  const deliveries = await inSteps(
    clock,
    signal,
    () => store.pruneDeliveries({ before, limit: BATCH_SIZE }),
  );
  // What was sent is what a later message of its key updates, so it stays whatever its task does.
  const messages = await inSteps(
    clock,
    signal,
    () =>
      store.pruneOutbox({
        before: clock.now() - (keep.days === 0 ? KEEP_MESSAGES_DAYS : keep.days) * DAY_MS,
        limit: BATCH_SIZE,
      }),
  );
  if (tasks + sourceEvents + deliveries + messages > 0) {
    log.info("old records removed", { tasks, sourceEvents, deliveries, messages });
  }
}

/** Calls `step`, which returns how many rows it removed, until nothing more is to be expected. */
async function inSteps(
  clock: Clock,
  signal: AbortSignal,
  step: () => Promise<number>,
): Promise<number> {
  let removed = 0;
  for (let idle = 0; idle < IDLE_CALLS && !signal.aborted;) {
    const now = await step();
    removed += now;
    idle = now === 0 ? idle + 1 : 0;
    await clock.pause(PAUSE_MS, signal);
  }
  return removed;
}

async function removeFiles(
  task: { readonly id: string; readonly directory: string },
  { logs, log, discard }: RetentionHost,
  signal: AbortSignal,
): Promise<void> {
  try {
    await logs.left?.remove(task.id);
    await discard(task, signal);
  } catch (error) {
    log.warn("files of a removed task could not be removed", { task: task.id, error });
  }
}
