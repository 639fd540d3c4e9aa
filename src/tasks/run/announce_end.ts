/**
 * Tells the other parts of the daemon that a task has ended.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import type { Task } from "../../store/task_records.ts";
import type { RunHost } from "./task_context.ts";

/** Tells the log and the other parts of the daemon that a task has ended. */
export function announceEnd(task: Task, { log, events }: Pick<RunHost, "log" | "events">): void {
  const { id, state, reason } = task;
  log.info("task ended", { task: id, state, ...defined({ reason: reason || undefined }) });
  events.publish("taskEnded", { task });
}
