/**
 * `task logs` (contract 6): the output of a task as it was printed, from the file the run writes;
 * with `follow` until the task has ended.
 *
 * @module
 */

import type { LogEnd, LogEntry, Streams } from "../api/operations.ts";
import { toBase64 } from "../base/bytes.ts";
import { pause, rfc3339 } from "../base/clock.ts";
import type { DataDir } from "../base/data_dir.ts";
import type { Store } from "../store/store.ts";
import { logPath, readLog } from "../tasks/task_log.ts";
import { findTask } from "./records.ts";

/** How often a followed log is looked at. */
const FOLLOW_MS = 100;

/**
 * The output of a task, then one last line that says how the task stands.
 *
 * @throws {AppError} `not_found` when there is no such task.
 */
export async function* taskLogs(
  input: Streams["task.logs"],
  host: { readonly store: Store; readonly dirs: DataDir },
  signal: AbortSignal,
): AsyncGenerator<LogEntry | LogEnd> {
  const found = await findTask(input.id, host.store);
  const path = logPath(host.dirs.logs, found.id);
  for (let offset = 0; !signal.aborted;) {
    // Asked before the file is read: what was written before the end is in it.
    const task = await findTask(found.id, host.store);
    const over = task.finishedAt !== undefined || !input.follow;
    for (;;) {
      const { chunks, next } = await readLog(path, offset);
      for (const chunk of chunks) {
        if (input.step !== undefined && chunk.step !== input.step) continue;
        yield {
          at: rfc3339(chunk.at),
          step: chunk.step,
          stream: chunk.stream,
          data: toBase64(chunk.bytes),
        };
      }
      if (next === offset) break;
      offset = next;
    }
    if (over) return yield { state: task.state, reason: task.reason };
    await pause(FOLLOW_MS, signal);
  }
}
