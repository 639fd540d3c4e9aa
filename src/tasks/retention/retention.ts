/**
 * Retention of tasks, deliveries and events of chat platforms, by age, tasks also by number a
 * trigger: a few at a time, so that nobody waits, with everything that lies on disk for a task.
 * What runs or waits is never touched.
 *
 * @module
 */

import type { HealthConditions } from "../../base/health_conditions.ts";
import type { Clock } from "../../base/clock.ts";
import type { DataDir } from "../../base/data_dir.ts";
import { messageOf } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { RetentionStore } from "../../store/retention_store.ts";
import type { TaskStore } from "../../store/task_store.ts";
import { DEDUP_WINDOW_MS } from "../../intake/admission/admit.ts";
import { removeIfThere, removeOrphans } from "./orphans.ts";
import { logPath } from "../log/task_log.ts";

/** How much is kept. */
export interface Keep {
  /** Days since the end of a task, and since a delivery came; 0 for ever. */
  readonly days: number;
  /** Tasks of each trigger; 0 for any number. */
  readonly perTrigger: number;
}

/** What retention needs. */
export interface RetentionHost {
  /** Tasks and deliveries. */
  readonly store: RetentionStore & TaskStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Where logs and the directories of tasks are. */
  readonly dirs: DataDir;
  /** Where it says that it does not work. */
  readonly health?: HealthConditions;
  /** How much is kept. */
  readonly keep: Keep;
  /** Removes the directory a task had for itself. */
  readonly removeDirectory: (directory: string, signal: AbortSignal) => Promise<unknown>;
}

/** Time between two looks. */
const POLL_INTERVAL_MS = 5 * 60_000;
/** The first look: shortly after the start, which has other things to do. */
const FIRST_LOOK_MS = 10_000;
/** Rows removed in one transaction: some 5 ms, for which a request may have to wait. */
const AT_ONCE = 50;
/** Pause between two of them. */
const PAUSE_MS = 12;
/** Calls that find nothing in one look: each looks at a part of what there is and goes on there. */
const IDLE_CALLS = 40;
const DAY_MS = 24 * 3600 * 1000;

/** Prunes now and then until disposed. */
export function startRetention(host: RetentionHost): AsyncDisposable {
  const stopping = new AbortController();
  const { signal } = stopping;
  const orphans = async () => {
    await host.clock.pause(FIRST_LOOK_MS, signal);
    if (!signal.aborted) await told(host, () => removeOrphans(host, signal));
  };
  const prunes = async () => {
    for (let ms = FIRST_LOOK_MS;; ms = POLL_INTERVAL_MS) {
      await host.clock.pause(ms, signal);
      if (signal.aborted) return;
      await told(host, () => prune(host, signal));
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

async function told(host: RetentionHost, work: () => Promise<void>): Promise<void> {
  try {
    await work();
    host.health?.clear("retention");
  } catch (error) {
    host.log.warn("old tasks could not be removed, trying again later", { error });
    host.health?.set("retention", `old tasks could not be removed: ${messageOf(error)}`);
  }
}

/** Removes what is beyond `host.keep` now. */
export async function prune(host: RetentionHost, signal: AbortSignal): Promise<void> {
  const { store, clock, log, keep } = host;
  const aged = keep.days === 0 ? 0 : clock.now() - keep.days * DAY_MS;
  const tasks = await inSteps(clock, signal, async () => {
    const removed = await store.pruneTasks({
      before: aged,
      limit: AT_ONCE,
      ...(keep.perTrigger === 0 ? {} : { keep: keep.perTrigger }),
    });
    for (const task of removed) await removeFiles(task, host, signal);
    return removed.length;
  });
  // Deliveries of this span tell what was seen before, however little is to be kept.
  const before = Math.min(aged, clock.now() - DEDUP_WINDOW_MS);
  // Before the deliveries: an event that can be replayed needs what its delivery holds.
  const sourceEvents = await inSteps(
    clock,
    signal,
    () => store.pruneSourceEvents({ before, limit: AT_ONCE }),
  );
  const deliveries = await inSteps(
    clock,
    signal,
    () => store.pruneDeliveries({ before, limit: AT_ONCE }),
  );
  if (tasks + sourceEvents + deliveries > 0) {
    log.info("old records removed", { tasks, sourceEvents, deliveries });
  }
}

/** Calls `step`, which says how many it removed, until there is nothing more to be expected. */
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
  { dirs, log, removeDirectory }: RetentionHost,
  signal: AbortSignal,
): Promise<void> {
  try {
    await removeIfThere(logPath(dirs.logs, task.id));
    if (task.directory !== "") await removeDirectory(task.directory, signal);
  } catch (error) {
    log.warn("files of a removed task could not be removed", { task: task.id, error });
  }
}
