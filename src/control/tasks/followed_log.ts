/**
 * Finds the log of a task for the operations that read it, and reports when there is more to read.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import type { Events } from "../../store/events.ts";
import type { LogStore, StoredLog } from "../../store/log_store.ts";
import type { Task } from "../../store/task_records.ts";
import type { TaskStore } from "../../store/task_store.ts";
import { type Changed, Changes } from "../records/changes.ts";
import { findTask } from "../records/records.ts";

/** Shortest time between two reads of a followed log. */
const SPACING_MS = 100;
/** Longest time between two reads of a followed log. */
const POLL_INTERVAL_MS = 15_000;

/** The tasks and logs of a daemon, and the events that announce their changes. */
export interface LogsHost {
  readonly store: TaskStore;
  readonly events: Events;
  readonly logs: LogStore;
  readonly clock: Clock;
}

/**
 * A task and its log.
 *
 * @throws {AppError} `not_found` when there is no such task, `usage` when it has no such step.
 */
export async function findLog(
  { id, step }: { readonly id: string; readonly step?: string | undefined },
  { store, logs }: Pick<LogsHost, "store" | "logs">,
): Promise<{ readonly task: Task; readonly log: StoredLog }> {
  const task = await findTask(id, store);
  if (step === undefined || task.steps.length === 0 || task.steps.some((one) => one.id === step)) {
    return { task, log: logs.of(task.id) };
  }
  const known = task.steps.map((one) => one.id).join(", ");
  throw new AppError("usage", `Task ${task.id} has no step "${step}": its steps are ${known}`);
}

/**
 * Yields the task whenever its log may have more: now, after new output, and after changes of the
 * task. Whoever reads the log each time, and stops with a task that has ended, has read all of it.
 */
export async function* followLog(
  found: Task,
  { store, events, clock }: Pick<LogsHost, "store" | "events" | "clock">,
  signal: AbortSignal,
): AsyncGenerator<Task> {
  const { id } = found;
  using changes = Changes.ofRecords({
    events,
    record: "task",
    spacingMs: SPACING_MS,
    clock,
    isWanted: (changed) => changed === id,
  });
  changes.subscribe(events.on("logWritten", ({ taskId }) => {
    if (taskId === undefined || taskId === id) changes.add(LOG);
  }));
  let task = found;
  for (let changed: Changed = "any"; !signal.aborted;) {
    // The task is read before its log: what was written before its end is then in the log.
    if (typeof changed === "string" || changed.has(id)) task = await findTask(id, store);
    yield task;
    changed = await changes.next(POLL_INTERVAL_MS, signal);
  }
}

/** Stands for the log in a set of changes: after new output alone, the task is not read again. */
const LOG = "log";
