/**
 * The lines of a task's output as they come, for the stream of a page.
 *
 * @module
 */

import type { WatchedLog } from "../../api/watch_operations.ts";
import { LogFollower, type LogPage, readBackwards } from "../../tasks/log/log_pages.ts";
import { findLog, followLog, type LogsHost } from "./followed_log.ts";
import { lineView, MAX_SHOWN_BYTES } from "./log_read.ts";

/** Limits of one line of the stream; the rest follows in further ones. */
const LIMITS = { lines: 1000, lookedAt: 1024 * 1024, lineBytes: MAX_SHOWN_BYTES };

/** The log that is watched. */
export interface LogSubject {
  /** The whole id of its task. */
  readonly id: string;
  /** Only lines of this step are yielded. */
  readonly step: string | undefined;
  /** Only what agents printed is yielded. */
  readonly raw: true | undefined;
  /** Byte of the log up to which the reader has it; when absent, the last lines come first. */
  readonly after: number | undefined;
}

/**
 * Yields the lines that are there, then those that come, until the task has ended.
 *
 * @throws {AppError} `not_found` when there is no such task, `usage` when it has no such step.
 */
export async function* watchLog(
  { id, step, raw, after }: LogSubject,
  host: LogsHost,
  signal: AbortSignal,
): AsyncGenerator<WatchedLog> {
  const { task: found, log } = await findLog({ id, step }, host);
  const filter = { step, stream: raw && "raw" } as const;
  let from = after;
  if (from === undefined) {
    const last = await readBackwards(log, { filter, limits: LIMITS });
    yield toLine(last, false);
    from = last.end;
  }
  const follower = new LogFollower(log, { filter, lineBytes: LIMITS.lineBytes, after: from });
  let isFirst = after !== undefined;
  for await (const { finishedAt } of followLog(found, host, signal)) {
    for (let atEnd = false; !atEnd && !signal.aborted;) {
      const page = await follower.read(LIMITS);
      atEnd = page.atEnd;
      const over = finishedAt !== undefined && atEnd;
      if (isFirst || over || page.end > page.start) yield toLine(page, over);
      isFirst = false;
    }
    if (finishedAt !== undefined) return;
  }
}

function toLine({ lines, end }: LogPage, over: boolean): WatchedLog {
  return { lines: lines.map(lineView), end, cursor: String(end), over };
}
