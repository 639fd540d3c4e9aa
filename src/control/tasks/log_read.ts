/**
 * `task.log.read`: lines of the output of a task, from any place of it, forwards or backwards.
 *
 * @module
 */

import type { Input, Output } from "../../api/operations.ts";
import type { LogText } from "../../api/task_operations.ts";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import type { LogLine } from "../../tasks/log/log_lines.ts";
import { LogFollower, readBackwards } from "../../tasks/log/log_pages.ts";
import { findLog, type LogsHost } from "./followed_log.ts";

/** Lines of a page without a `limit`. */
const DEFAULT_LINES = 1000;
/** Most bytes of the log that one page searches, however little it finds. */
const MAX_LOOKED_AT = 8 * 1024 * 1024;
/** Longest line that is shown. */
export const MAX_SHOWN_BYTES = 64 * 1024;

/**
 * One page of the lines of a task's output.
 *
 * @throws {AppError} `not_found` when there is no such task, `usage` when it has no such step or
 *   the input names more than one place.
 */
export async function readTaskLog(
  input: Input<"task.log.read">,
  host: Pick<LogsHost, "store" | "logs">,
): Promise<Output<"task.log.read">> {
  const { before, after, at, limit = DEFAULT_LINES, step, stream, contains } = input;
  if ([before, after, at].filter((one) => one !== undefined).length > 1) {
    throw new AppError(
      "usage",
      "Give only one of before, after and at, or none of them for the last lines",
    );
  }
  const { log } = await findLog(input, host);
  const filter = { step, stream, contains };
  const limits = { lines: limit, lookedAt: MAX_LOOKED_AT, lineBytes: MAX_SHOWN_BYTES };
  const from = at !== undefined ? { at: timeOf(at) } : after !== undefined ? { after } : undefined;
  const page = from === undefined
    ? await readBackwards(log, { before, filter, limits })
    : await new LogFollower(log, { filter, lineBytes: limits.lineBytes, ...from }).read(limits);
  const { lines, start, end, size, atEnd } = page;
  return { size, start, end, at_start: start === 0, at_end: atEnd, lines: lines.map(lineView) };
}

/** A line as JSON. */
export function lineView({ offset, n, at, step, stream, bytes, cut, ended }: LogLine): LogText {
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  return {
    offset,
    n,
    at: rfc3339(at),
    step,
    stream,
    text,
    ...defined({ cut: cut === 0 ? undefined : cut, open: ended ? undefined : true as const }),
  };
}

function timeOf(at: string): number {
  const time = Date.parse(at);
  if (!Number.isNaN(time)) return time;
  throw new AppError("usage", `"${at}" is not a time: write it as 2026-01-31T12:00:00Z`);
}
