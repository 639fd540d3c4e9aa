/**
 * The lines of a task's output as they are printed, for those that show them.
 *
 * @module
 */

import type { WatchedLog } from "../../api/watch_operations.ts";
import { LogFollower, type LogPage, readBackwards } from "../../tasks/log/log_pages.ts";
import type { Changed } from "../records/changes.ts";
import { findTask } from "../records/records.ts";
import { lineView, MAX_SHOWN_BYTES } from "./log_read.ts";
import { checkStep, logChanges, type LogsHost, POLL_INTERVAL_MS } from "./task_logs.ts";

/** How much one line of the stream holds; the rest follows in others. */
const LIMITS = { lines: 1000, lookedAt: 1024 * 1024, lineBytes: MAX_SHOWN_BYTES };

/** The log that is watched. */
export interface LogSubject {
  /** The whole id of its task. */
  readonly id: string;
  /** Only lines of this step. */
  readonly step: string | undefined;
  /** Place in the log up to which it is known; the last lines are given when absent. */
  readonly after: number | undefined;
}

/**
 * Yields what there is, then what comes, until the task has ended.
 *
 * @throws {AppError} `not_found` when there is no such task, `usage` when it has no such step.
 */
export async function* watchLog(
  { id, step, after }: LogSubject,
  host: LogsHost,
  signal: AbortSignal,
): AsyncGenerator<WatchedLog> {
  let task = await findTask(id, host.store);
  checkStep(step, task);
  using changes = logChanges(id, host); // before the first read, so that nothing is missed
  const log = host.logs.of(id);
  const wanted = { step };
  let from = after;
  if (from === undefined) {
    const last = await readBackwards(log, { wanted, limits: LIMITS });
    yield toLine(last, false);
    from = last.end;
  }
  const follower = new LogFollower(log, { wanted, lineBytes: LIMITS.lineBytes, after: from });
  let isFirst = after !== undefined;
  for (let changed: Changed = "any"; !signal.aborted;) {
    // Asked before the log is read: what was written before the end is in it.
    if (typeof changed === "string" || changed.has(id)) task = await findTask(id, host.store);
    const hasEnded = task.finishedAt !== undefined;
    for (let atEnd = false; !atEnd && !signal.aborted;) {
      const page = await follower.read(LIMITS);
      atEnd = page.atEnd;
      const over = hasEnded && atEnd;
      if (isFirst || over || page.end > page.start) yield toLine(page, over);
      isFirst = false;
    }
    if (hasEnded) return;
    changed = await changes.next(POLL_INTERVAL_MS, signal);
  }
}

function toLine({ lines, end }: LogPage, over: boolean): WatchedLog {
  return { lines: lines.map(lineView), end, cursor: String(end), over };
}
