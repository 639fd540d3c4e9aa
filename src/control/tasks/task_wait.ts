/**
 * `task wait`: reports each task when it has ended. A stream with keepalives, so that no timeout of
 * a proxy cuts it.
 *
 * @module
 */

import type { Input } from "../../api/operations.ts";
import type { WaitLine } from "../../api/task_operations.ts";
import { type Changed, Changes } from "../records/changes.ts";
import { findTask } from "../records/records.ts";
import { taskView } from "../records/views.ts";
import type { LogsHost } from "./followed_log.ts";

/** Shortest time between two reads of the tasks, and its increase for each task. */
const SPACING_MS = { least: 50, each: 5 };
/** Time after which a keepalive is sent and tasks are read without an announcement. */
const KEEPALIVE_MS = 15_000;

/**
 * Yields a line for each task as soon as it has ended, until all have or the time is up.
 *
 * @throws {AppError} `not_found` when there is no such task.
 */
export async function* waitForTasks(
  input: Input<"task.wait">,
  { store, events, clock }: LogsHost,
  signal: AbortSignal,
): AsyncGenerator<WaitLine> {
  const found = await Promise.all(input.ids.map((id) => findTask(id, store)));
  const open = new Set(found.map(({ id }) => id));
  const spacingMs = Math.max(SPACING_MS.least, open.size * SPACING_MS.each);
  const isWanted = (id: string) => open.has(id);
  using changes = Changes.ofRecords({ events, record: "task", spacingMs, clock, isWanted });
  yield { open: open.size }; // the first line shows the client that all tasks were found
  const until = clock.now() + (input.timeout_secs ?? Infinity) * 1000;
  let alive = clock.now();
  for (let changed: Changed = "any"; !signal.aborted;) {
    const read = [...open].filter((id) => typeof changed === "string" || changed.has(id));
    for (const task of await Promise.all(read.map((id) => findTask(id, store)))) {
      if (task.finishedAt === undefined) continue;
      open.delete(task.id);
      yield { task: taskView(task) };
    }
    if (open.size === 0) return;
    const now = clock.now();
    if (now >= until) {
      const late = await Promise.all([...open].map((id) => findTask(id, store)));
      return yield { timed_out: [...open], tasks: late.map(taskView) };
    }
    if (now - alive >= KEEPALIVE_MS) {
      alive = now;
      yield { open: open.size };
    }
    const quietMs = Math.min(Math.max(0, alive + KEEPALIVE_MS - now), until - now);
    changed = await changes.next(quietMs, signal);
  }
}
