/**
 * Retention: removes tasks with their files, deliveries, chat events and sessions by age, tasks also by
 * their number per trigger, and bodies by an age of their own. Each transaction removes a few, so that
 * requests do not wait long. Pending and running tasks stay.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { messageOf } from "../../base/errors.ts";
import { dedupTimesIn } from "../../resources/dedup_times.ts";
import { Bodies } from "./bodies.ts";
import { agesOf, shortestOf } from "./limits.ts";
import { removeOldSessions } from "./old_sessions.ts";
import { removeLeft, removeOrphans } from "./orphans.ts";
import type { TaskFiles } from "../../store/retention_store.ts";
import type { RetentionHost } from "./retention_host.ts";
import { pruneTrigger, triggersToPrune } from "./trigger_records.ts";

/** Time between two rounds. */
const INTERVAL_MS = 5 * 60_000;
/** The same where some records are kept for less than {@linkcode SHORT_MS}. */
const SHORT_INTERVAL_MS = 60_000;
const SHORT_MS = 3600_000;
/** Delay of the first round, because the daemon has other work right after its start. */
const FIRST_ROUND_MS = 10_000;
/** Rows removed in one transaction: some 5 ms, for which a request may have to wait. */
const BATCH_SIZE = 50;
/** Pause between two transactions. */
const PAUSE_MS = 12;
/** Calls without a removal after which a round ends: each call goes through a part of the rows. */
const IDLE_CALLS = 40;
/** How long ended messages are kept where tasks are kept for ever. */
const KEEP_MESSAGES_MS = 30 * 24 * 3600 * 1000;

/** Starts to prune at regular intervals, until disposed. */
export function startRetention(host: RetentionHost): AsyncDisposable {
  const stopping = new AbortController();
  const { signal } = stopping;
  const { clock } = host;
  // A round that failed, mostly because the database could not be written, is repeated soon.
  const orphans = async () => {
    do {
      await clock.pause(FIRST_ROUND_MS, signal);
    } while (!signal.aborted && !await isDone(host, () => removeOrphans(host, signal)));
  };
  const bodies = new Bodies(host);
  const rounds = async () => {
    for (let ms = FIRST_ROUND_MS;;) {
      await clock.pause(ms, signal);
      if (signal.aborted) return;
      const done = await isDone(host, () => prune(host, signal, bodies));
      ms = done ? intervalOf(host) : FIRST_ROUND_MS;
    }
  };
  const work = Promise.all([orphans(), rounds()]);
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

/** Removes everything beyond `host.keep` and the retention of each trigger. */
export async function prune(
  host: RetentionHost,
  signal: AbortSignal,
  bodies: Bodies = new Bodies(host),
): Promise<void> {
  const { store, clock, log, catalog, keep } = host;
  const limit = BATCH_SIZE;
  const inSteps = (step: () => Promise<number>) => untilIdle(step, clock, signal);
  const removeTasks = async (ended: readonly TaskFiles[]) => {
    for (const task of ended) await removeFiles(task, host, signal);
    return ended.length;
  };
  const ages = agesOf("tasks", keep.tasksMs, catalog);
  const aged = ages.longestMs === undefined ? 0 : clock.now() - ages.longestMs;
  // Deduplication needs the deliveries since this time, however little is to be kept.
  const needed = clock.now() - dedupTimesIn(catalog).others.dedupKeepMs;
  const before = Math.min(aged, needed);

  const perTrigger = keep.perTrigger === 0 ? undefined : keep.perTrigger;
  const oldTasks = { before: aged, limit, ...defined({ keep: perTrigger }) };
  let tasks = await inSteps(async () => removeTasks(await store.pruneTasks(oldTasks)));
  // Before the deliveries: an event that can be replayed needs the content of its delivery.
  const sourceEvents = await inSteps(() => store.pruneSourceEvents({ before, limit }));
  let deliveries = await inSteps(() => store.pruneDeliveries({ before, limit }));
  for (const trigger of await triggersToPrune(ages, host)) {
    const range = { ...trigger, deliveriesBefore: Math.min(trigger.before, needed) };
    for await (const removed of pruneTrigger(range, host, signal)) {
      tasks += await removeTasks(removed.tasks);
      deliveries += removed.deliveries;
    }
  }
  const sessions = await removeOldSessions(host, aged, signal);
  const emptied = await pruneBodies(bodies, host, signal);
  // Messages go by their own age, not by their task's: a later message updates the earlier one.
  const keepMs = keep.tasksMs === 0 ? KEEP_MESSAGES_MS : keep.tasksMs;
  const messages = await inSteps(() => store.pruneOutbox({ before: clock.now() - keepMs, limit }));

  if (tasks + sourceEvents + deliveries + sessions + emptied + messages === 0) return;
  await store.emptyLog(); // the database's own log still holds the removed rows
  const removed = { tasks, sourceEvents, deliveries, sessions, bodies: emptied, messages };
  log.info("old records removed", removed);
}

/** Removes the bodies of deliveries that stay; returns how many. */
async function pruneBodies(
  bodies: Bodies,
  host: RetentionHost,
  signal: AbortSignal,
): Promise<number> {
  const { keep, catalog, clock } = host;
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

/**
 * Calls `step`, which returns how many rows it removed, until it has removed none for a number of
 * calls; returns the sum.
 */
async function untilIdle(
  step: () => Promise<number>,
  clock: Clock,
  signal: AbortSignal,
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
  task: TaskFiles,
  host: RetentionHost,
  signal: AbortSignal,
): Promise<void> {
  const { logs, log, directories } = host;
  try {
    if (task.isMoved === true) return await removeLeft(task, host, signal);
    await logs.left?.remove(task.id);
    await directories.discard(task, { signal });
  } catch (error) {
    log.warn("files of a removed task could not be removed", { task: task.id, error });
  }
}
