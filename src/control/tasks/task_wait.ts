/**
 * `task wait`: tells of each task when it is over. A stream, so that no deadline of a
 * server cuts it, with a sign of life now and then for whatever stands in between.
 *
 * @module
 */

import type { Input } from "../../api/operations.ts";
import type { WaitLine } from "../../api/task_operations.ts";
import type { Clock } from "../../base/clock.ts";
import type { Events } from "../../store/events.ts";
import type { TaskStore } from "../../store/task_store.ts";
import { type Changed, Changes } from "../records/changes.ts";
import { findTask } from "../records/records.ts";
import { taskView } from "../records/views.ts";

/** Shortest time between two looks; more where many tasks are waited for. */
const SPACING_MS = { least: 50, each: 5 };
/** How often there is a sign of life, and a look at tasks of which nothing was heard. */
const ALIVE_MS = 15_000;

/** What waiting needs. */
export interface WaitHost {
  /** Tasks. */
  readonly store: TaskStore;
  /** Tell which have changed. */
  readonly events: Events;
  readonly clock: Clock;
}

/**
 * A line for each task that is over, as soon as it is, until all are or the time is up.
 *
 * @throws {AppError} `not_found` when there is no such task.
 */
export async function* waitForTasks(
  input: Input<"task.wait">,
  { store, events, clock }: WaitHost,
  signal: AbortSignal,
): AsyncGenerator<WaitLine> {
  const found = await Promise.all(input.ids.map((id) => findTask(id, store)));
  const open = new Set(found.map(({ id }) => id));
  const spacingMs = Math.max(SPACING_MS.least, open.size * SPACING_MS.each);
  const isWanted = (id: string) => open.has(id);
  using changes = Changes.ofRecords({ events, record: "task", spacingMs, clock, isWanted });
  yield { waiting: open.size }; // at once, so that the client knows that they were found
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
    if (now >= until) return yield { timed_out: [...open] };
    if (now - alive >= ALIVE_MS) {
      alive = now;
      yield { waiting: open.size };
    }
    const quietMs = Math.min(Math.max(0, alive + ALIVE_MS - now), until - now);
    changed = await changes.next(quietMs, signal);
  }
}
