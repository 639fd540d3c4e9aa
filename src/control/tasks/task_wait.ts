/**
 * `task wait` (contract 6): tells of each task when it is over. A stream, so that no deadline of a
 * server cuts it, with a sign of life now and then for whatever stands in between.
 *
 * @module
 */

import type { Input } from "../../api/operations.ts";
import type { WaitLine } from "../../api/task_operations.ts";
import { type Clock, pause } from "../../base/clock.ts";
import type { TaskStore } from "../../store/task_store.ts";
import { findTask } from "../records/records.ts";
import { taskView } from "../records/views.ts";

/** How often tasks are looked at: soon after the start, then less and less often. */
const POLL_INTERVAL_MS = { least: 50, most: 500, each: 5 };
/** How often there is a sign of life. */
const ALIVE_MS = 15_000;

/**
 * A line for each task that is over, as soon as it is, until all are or the time is up.
 *
 * @throws {AppError} `not_found` when there is no such task.
 */
export async function* waitForTasks(
  input: Input<"task.wait">,
  host: { readonly store: TaskStore; readonly clock: Clock },
  signal: AbortSignal,
): AsyncGenerator<WaitLine> {
  const { store, clock } = host;
  const found = await Promise.all(input.ids.map((id) => findTask(id, store)));
  let open = [...new Set(found.map(({ id }) => id))];
  yield { waiting: open.length }; // at once, so that the client knows that they were found
  const until = clock.now() + (input.timeout_secs ?? Infinity) * 1000;
  let alive = clock.now();
  const most = Math.max(POLL_INTERVAL_MS.most, open.length * POLL_INTERVAL_MS.each);
  for (let ms = POLL_INTERVAL_MS.least; !signal.aborted; ms = Math.min(ms * 1.5, most)) {
    const tasks = await Promise.all(open.map((id) => findTask(id, store)));
    for (const task of tasks) {
      if (task.finishedAt !== undefined) yield { task: taskView(task) };
    }
    open = tasks.filter((task) => task.finishedAt === undefined).map(({ id }) => id);
    if (open.length === 0) return;
    const now = clock.now();
    if (now >= until) return yield { timed_out: open };
    if (now - alive >= ALIVE_MS) {
      alive = now;
      yield { waiting: open.length };
    }
    await pause(Math.min(ms, until - now), signal);
  }
}
