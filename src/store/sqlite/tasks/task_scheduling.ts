/**
 * Which tasks a worker gets: claims, requeues and tasks that wait in their midst. A task whose time has
 * come waits for room first.
 *
 * @module
 */

import { defined } from "../../../base/defined.ts";
import type { Claim, ClaimedTask } from "../../task_records.ts";
import { json, text } from "../../sql/columns.ts";
import { isGone } from "../../rules/ownership.ts";
import { earlier, type Paused, whatIsPaused } from "../../rules/pauses.ts";
import { ProjectRooms } from "../../rules/project_rooms.ts";
import { toPausedProject } from "../../sql/pauses.ts";
import type { Database } from "../engine/database.ts";
import { READINESS, TIMED } from "../../sql/readiness.ts";
import { whatIsDue } from "../../rules/readiness.ts";
import { CUT_OFF_MS, PARKED_COLUMNS, seenOpen, toParked } from "../../sql/parking.ts";
import type { Parking, Requeue } from "../../turn_records.ts";
import { DUE_TASK_COLUMNS, toDueTask } from "../../sql/task_facts.ts";
import type { DueTask } from "../../transactions/task_rows.ts";
import * as parking from "../../transactions/park_task.ts";
import { SqliteTaskRows } from "./sqlite_task_rows.ts";
import { listProjectRooms } from "./task_counts.ts";
import { readClaimed } from "./task_lists.ts";

/** Tasks that go on at a time: those that have not begun, and those that wait in their midst. */
const THOSE_TIMED = `tasks INDEXED BY tasks_timed WHERE ${TIMED}`;

/** Claims the tasks that are ready and first: marks them running and returns them. */
export async function claimTasks(db: Database, limit: number, now: number): Promise<Claim> {
  // mostly no task waits for its time, and this query is quick
  const isTimed = firstTime(db) !== undefined;
  if (isTimed) parking.releaseDue(new SqliteTaskRows(db), findDue(db, now), now);
  const pauses = db.all("SELECT project, until FROM pauses").map(toPausedProject);
  const paused = whatIsPaused(pauses, now);
  const rooms = new ProjectRooms(await listProjectRooms(db));
  const ids = paused.everything ? [] : findReady(db, limit, { paused, rooms });
  for (const id of ids) {
    db.run(
      `UPDATE tasks SET state = 'running', node = ?1, started_at = COALESCE(started_at, ?2),
         claimed_at = ?2 WHERE id = ?3`,
      db.node,
      now,
      id,
    );
  }
  const nextAt = earlier(isTimed ? firstTime(db) : undefined, paused.nextEnd);
  return {
    tasks: ids.toSorted().map((id) => readClaimed(db, id)),
    ...defined({ nextAt }),
  };
}

const READY = `tasks INDEXED BY tasks_ready
  WHERE state = 'pending' AND readiness = ${READINESS.ready}`;

/**
 * The projects with ready tasks, each with its first ones as JSON. It is found by a step in the index,
 * however many tasks it has; a statement for each would take five times as long.
 */
const FIRST_READY = `WITH RECURSIVE ready (project) AS (
    SELECT min(project) FROM ${READY}
    UNION ALL
    SELECT (SELECT min(project) FROM ${READY} AND project > ready.project)
    FROM ready WHERE project IS NOT NULL)
  SELECT project, (SELECT json_group_array(json_array(priority, id)) FROM (
      SELECT priority, id FROM ${READY} AND project = ready.project ORDER BY priority, id LIMIT ?
    )) AS first
  FROM ready WHERE project IS NOT NULL`;

/** The tasks that are ready and first, of projects that are not paused and have room. */
function findReady(
  db: Database,
  limit: number,
  { paused, rooms }: { readonly paused: Paused; readonly rooms: ProjectRooms },
): string[] {
  const found = db.all(FIRST_READY, limit).flatMap((row) => {
    const project = text(row, "project");
    if (paused.projects.includes(project)) return [];
    const first = json(row, "first") as (readonly [priority: number, id: string])[];
    return first.slice(0, rooms.of(project));
  });
  return found.toSorted(([a, x], [b, y]) => a - b || (x < y ? -1 : 1))
    .slice(0, limit).map(([, id]) => id);
}

/** Takes over the running tasks of a node that is gone, each with one restart more. */
export function claimInterrupted(db: Database): ClaimedTask[] {
  const ids = db.all("SELECT id, node FROM tasks WHERE state = 'running' ORDER BY id")
    .filter((row) => isGone(text(row, "node"), db.node))
    .map((row) => text(row, "id"));
  for (const id of ids) {
    db.run(
      `UPDATE tasks SET node = ?, restarts = restarts + 1, active_ms = active_ms + ${CUT_OFF_MS},
         claimed_at = NULL WHERE id = ?`,
      db.node,
      id,
    );
  }
  return ids.map((id) => readClaimed(db, id));
}

/** Puts a running task back in the queue, with these records of its steps; it keeps its room. */
export function requeueTask(
  db: Database,
  taskId: string,
  { now, steps = [], activeMs = 0 }: Requeue,
): void {
  const changed = db.run(
    `UPDATE tasks SET state = 'pending', pending_since = ?, active_ms = active_ms + ?,
       claimed_at = NULL WHERE id = ? AND state = 'running'`,
    now,
    activeMs,
    taskId,
  );
  if (changed === 0) return;
  const rows = new SqliteTaskRows(db);
  for (const step of steps) rows.saveStep(taskId, step);
}

/** Puts a running task back until a step of it can go on. */
export function parkTask(db: Database, taskId: string, given: Parking): void {
  const row = db.get(
    `SELECT cancel_reason, ${PARKED_COLUMNS} FROM tasks WHERE id = ? AND state = 'running'`,
    seenOpen(given),
    taskId,
  );
  if (row === undefined) return;
  parking.parkTask(new SqliteTaskRows(db), taskId, given, toParked(row, given));
}

/** Most due tasks that one claim handles, so that other calls do not wait long. */
const DUE_BATCH = 500;

/** When the next task is due; `undefined` when none waits for its time. */
function firstTime(db: Database): number | undefined {
  const at = db.get(`SELECT min(run_at) AS at FROM ${THOSE_TIMED}`)?.["at"];
  return typeof at === "number" ? at : undefined;
}

/** Tasks whose time has come. */
function findDue(db: Database, now: number): DueTask[] {
  const { runAtUpTo, createdAfter } = whatIsDue(now);
  return [
    ...db.all(
      `SELECT ${DUE_TASK_COLUMNS} FROM ${THOSE_TIMED} AND run_at <= ? ORDER BY run_at LIMIT ?`,
      runAtUpTo,
      DUE_BATCH,
    ),
    ...db.all(
      `SELECT ${DUE_TASK_COLUMNS} FROM tasks INDEXED BY tasks_timed_by_age
       WHERE state = 'pending' AND readiness = ${READINESS.delayed} AND created_at > ?
       ORDER BY created_at LIMIT ?`,
      createdAfter,
      DUE_BATCH,
    ),
    ...db.all(
      `SELECT ${DUE_TASK_COLUMNS} FROM tasks INDEXED BY tasks_waiting
       WHERE state = 'waiting' AND waiting_since > ?
       ORDER BY waiting_since LIMIT ?`,
      createdAfter,
      DUE_BATCH,
    ),
  ].map(toDueTask);
}
