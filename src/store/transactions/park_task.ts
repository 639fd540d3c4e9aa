/**
 * A task that waits in its midst: its worker gives it back, and something lets it go on. Decided by
 * `rules/parking.ts`.
 *
 * @module
 */

import { decidePark, type ParkedTask } from "../rules/parking.ts";
import type { Parking } from "../turn_records.ts";
import { findReadiness, promoteQueued, queueOrMakeReady } from "./queue_for_room.ts";
import type { DueTask, TaskRows } from "./task_rows.ts";

/** Puts a running task back, to wait or to go on at once. */
export function parkTask(
  rows: TaskRows,
  taskId: string,
  parking: Parking,
  facts: ParkedTask,
): void {
  const decision = decidePark(facts);
  rows.park(taskId, parking, decision);
  if (decision !== "waits outside") return;
  const task = rows.findTask(taskId);
  if (task !== "none") promoteQueued(rows, { workspace: task.limits.workspace });
}

/** Lets a waiting task go on: at once, or when its workspace has room again. */
export function wakeTask(
  rows: TaskRows,
  { id, readiness, limits: { workspace } }: Omit<DueTask, "state">,
  now: number,
): void {
  if (readiness !== "queuedInWorkspace") return rows.wake(id, "ready", now);
  const found = findReadiness(rows, { workspace });
  rows.wake(id, found.readiness, now);
  if (found.bringsNewLimit) promoteQueued(rows, { workspace });
}

/** Lets the tasks go on whose time has come; those that have not begun are queued for room first. */
export function releaseDue(rows: TaskRows, due: readonly DueTask[], now: number): void {
  for (const task of due) {
    if (task.state === "waiting") wakeTask(rows, task, now);
    else queueOrMakeReady(rows, task.id, task.limits);
  }
}
