/**
 * Retention of tasks, deliveries and chat events by age, of tasks also by number per trigger, and of
 * bodies by an age of their own: a few at a time, so that requests do not wait long, together with
 * the files of a task. Pending and running tasks stay.
 *
 * @module
 */

import type { HealthConditions } from "../../base/health_conditions.ts";
import type { Clock } from "../../base/clock.ts";
import type { DataDir } from "../../base/data_dir.ts";
import { messageOf } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { LogStore } from "../../store/log_store.ts";
import type { DeliveryStore } from "../../store/delivery_store.ts";
import type { RetentionStore } from "../../store/retention_store.ts";
import type { TaskStore } from "../../store/task_store.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { dedupTimesIn } from "../../resources/dedup_times.ts";
import { Bodies } from "./bodies.ts";
import { agesOf, shortestOf } from "./limits.ts";
import { removeOrphans } from "./orphans.ts";
import { pruneTrigger, triggersToPrune } from "./trigger_records.ts";

/** How much to keep of triggers that say nothing else. */
export interface RetentionLimits {
  /** Milliseconds since the end of a task or the arrival of a delivery; 0 for ever. */
  readonly tasksMs: number;
  /** The same of bodies; as long as their deliveries when 0. */
  readonly bodiesMs: number;
  /** Tasks of each trigger; 0 for any number. */
  readonly perTrigger: number;
}

/** What retention needs. */
export interface RetentionHost {
  /** Says how long deduplication needs deliveries, and what triggers say of themselves. */
  readonly catalog: Catalog;
  readonly store: RetentionStore & TaskStore & DeliveryStore;
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

/** Time between two rounds; where something is kept for less than an hour, the shorter one. */
const INTERVAL_MS = 5 * 60_000;
const SHORT_INTERVAL_MS = 60_000;
const SHORT_MS = 3600_000;
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
/** How long ended messages are kept where tasks are kept for ever. */
const KEEP_MESSAGES_MS = 30 * 24 * 3600 * 1000;

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
  const bodies = new Bodies(host);
  const prunes = async () => {
    for (let ms = FIRST_ROUND_MS;;) {
      await host.clock.pause(ms, signal);
      if (signal.aborted) return;
      const done = await isDone(host, () => prune({ ...host, bodies }, signal));
      ms = done ? intervalOf(host) : FIRST_ROUND_MS;
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

function intervalOf({ keep, catalog }: RetentionHost): number {
  const shortest = shortestOf(
    agesOf("tasks", keep.tasksMs, catalog),
    agesOf("bodies", keep.bodiesMs, catalog),
  );
  return shortest < SHORT_MS ? SHORT_INTERVAL_MS : INTERVAL_MS;
}

/** Removes everything beyond `host.keep` and what triggers say of themselves. */
export async function prune(
  host: RetentionHost & { readonly bodies?: Bodies },
  signal: AbortSignal,
): Promise<void> {
  const { store, clock, log, keep } = host;
  const ages = agesOf("tasks", keep.tasksMs, host.catalog);
  const aged = ages.longestMs === undefined ? 0 : clock.now() - ages.longestMs;
  let tasks = await inSteps(clock, signal, async () => {
    const removed = await store.pruneTasks({
      before: aged,
      limit: BATCH_SIZE,
      ...(keep.perTrigger === 0 ? {} : { keep: keep.perTrigger }),
    });
    for (const task of removed) await removeFiles(task, host, signal);
    return removed.length;
  });
  // Deduplication needs the deliveries of this span, however little is to be kept.
  const known = clock.now() - dedupTimesIn(host.catalog).others.dedupKeepMs;
  const before = Math.min(aged, known);
  // Before the deliveries: an event that can be replayed needs the content of its delivery.
  const sourceEvents = await inSteps(
    clock,
    signal,
    () => store.pruneSourceEvents({ before, limit: BATCH_SIZE }),
  );
  let deliveries = await inSteps(
    clock,
    signal,
    () => store.pruneDeliveries({ before, limit: BATCH_SIZE }),
  );
  for (const trigger of await triggersToPrune(ages, host)) {
    const range = { ...trigger, deliveriesBefore: Math.min(trigger.before, known) };
    for await (const removed of pruneTrigger(range, { store, clock, signal })) {
      for (const task of removed.tasks) await removeFiles(task, host, signal);
      tasks += removed.tasks.length;
      deliveries += removed.deliveries;
    }
  }
  const bodies = await pruneBodies(host, signal);
  // What was sent is what a later message of its key updates, so it stays whatever its task does.
  const messages = await inSteps(
    clock,
    signal,
    () =>
      store.pruneOutbox({
        before: clock.now() - (keep.tasksMs === 0 ? KEEP_MESSAGES_MS : keep.tasksMs),
        limit: BATCH_SIZE,
      }),
  );
  if (tasks + sourceEvents + deliveries + bodies + messages === 0) return;
  await store.emptyLog(); // which still has what was removed
  log.info("old records removed", { tasks, sourceEvents, deliveries, bodies, messages });
}

/** Removes the bodies of deliveries that stay; gives how many. */
async function pruneBodies(
  host: RetentionHost & { readonly bodies?: Bodies },
  signal: AbortSignal,
): Promise<number> {
  const { bodies = new Bodies(host), keep, catalog, clock } = host;
  const ages = agesOf("bodies", keep.bodiesMs, catalog);
  bodies.begin();
  let deleted = ages.longestMs === undefined
    ? 0
    : await bodies.prune(undefined, clock.now() - ages.longestMs, signal);
  for (const { before, ...of } of await triggersToPrune(ages, host)) {
    deleted += await bodies.prune(of, before, signal);
  }
  return deleted;
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
