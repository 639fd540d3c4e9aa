/**
 * Pending tasks that wait for room, in the table `tasks`: how full groups and workspaces are, and
 * who waits there. No query grows with the length of the queue.
 *
 * @module
 */

import type { Found } from "../../rules/needs.ts";
import type { WaitReason } from "../../rules/waiting.ts";
import { number, text } from "../../sql/columns.ts";
import type { SqlValue } from "../../sql/row.ts";
import { toWaitingTask, WAITING_TASK_COLUMNS } from "../../sql/task_facts.ts";
import { WAIT_REASON } from "../../sql/wait_reasons.ts";
import { MOST_COUNTED, type RoomUse } from "../../sql/waits.ts";
import type { Room, WaitingTask } from "../../transactions/task_rows.ts";
import type { Database } from "../engine/database.ts";

/** Which rows a room has, by an index whose next columns are the wait reason and the id. */
interface RoomSql {
  /** The unfinished tasks. */
  readonly tasks: string;
  /** Of these, those that wait for room here. */
  readonly waiting: string;
  /** Of these, those that occupy room here. */
  readonly open: string;
  /** Column of the limit. */
  readonly max: "gate_max" | "workspace_max";
}

/** Unfinished tasks of a group (column `gate`). */
export const IN_GROUP = `tasks INDEXED BY tasks_gated
  WHERE gate = ? AND state IN ('pending', 'running')`;

const SQL: Readonly<Record<Room["of"], RoomSql>> = {
  group: {
    tasks: IN_GROUP,
    waiting: `held = ${WAIT_REASON.group}`,
    open: `held < ${WAIT_REASON.group}`,
    max: "gate_max",
  },
  // tasks of a workspace (project, workspace) that have a limit there
  workspace: {
    tasks: `tasks INDEXED BY tasks_in_workspace
      WHERE project = ? AND workspace = ? AND workspace_max IS NOT NULL
        AND state IN ('pending', 'running')`,
    waiting: `held = ${WAIT_REASON.workspace}`,
    open: `held = ${WAIT_REASON.none}`,
    max: "workspace_max",
  },
};

/** The values that name a room. */
function valuesOf(room: Room): SqlValue[] {
  return room.of === "group" ? [room.digest] : [room.project, room.name];
}

/** The limit of the newest task that waits for room. */
export function findNewestMax(db: Database, room: Room): Found<number> {
  const { tasks, waiting, max } = SQL[room.of];
  const newest = db.get(
    `SELECT ${max} AS max FROM ${tasks} AND ${waiting} ORDER BY id DESC LIMIT 1`,
    ...valuesOf(room),
  );
  return newest === undefined ? "none" : number(newest, "max");
}

/** Number of tasks that occupy room, counted up to `upTo`. */
export function countOpen(db: Database, room: Room, upTo: number): number {
  const { tasks, open } = SQL[room.of];
  const counted = `SELECT 1 FROM ${tasks} AND ${open} LIMIT ?`;
  const row = db.get(`SELECT count(*) AS n FROM (${counted})`, ...valuesOf(room), upTo);
  return number(row ?? {}, "n");
}

/** How full a room is in which tasks wait. */
export function findRoomUse(db: Database, room: Room): RoomUse {
  const { tasks, open } = SQL[room.of];
  const max = findNewestMax(db, room);
  const first = db.get(
    `SELECT id FROM ${tasks} AND ${open} ORDER BY held, id LIMIT 1`,
    ...valuesOf(room),
  );
  return {
    max: max === "none" ? 0 : max,
    open: countOpen(db, room, MOST_COUNTED),
    ...(first === undefined ? {} : { first: text(first, "id") }),
  };
}

/** The task with the lowest id of those that wait for room. */
export function findOldestWaiting(db: Database, room: Room): Found<WaitingTask> {
  const { tasks, waiting } = SQL[room.of];
  const oldest = db.get(
    `SELECT ${WAITING_TASK_COLUMNS} FROM ${tasks} AND ${waiting} ORDER BY id LIMIT 1`,
    ...valuesOf(room),
  );
  return oldest === undefined ? "none" : toWaitingTask(oldest);
}

/** Stores what a pending task waits for. */
export function setWait(db: Database, taskId: string, waitsFor: WaitReason): void {
  db.run("UPDATE tasks SET held = ? WHERE id = ?", WAIT_REASON[waitsFor], taskId);
}
