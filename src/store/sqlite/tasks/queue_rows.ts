/**
 * The tasks that are queued for room, in the table `tasks`: how full groups and workspaces are, and
 * who is next there. No query grows with the length of the queue.
 *
 * @module
 */

import type { Found } from "../../rules/needs.ts";
import type { Readiness } from "../../rules/readiness.ts";
import { number, text } from "../../sql/columns.ts";
import type { SqlValue } from "../../sql/row.ts";
import { toUnreadyTask, UNREADY_TASK_COLUMNS } from "../../sql/task_facts.ts";
import { READINESS } from "../../sql/readiness.ts";
import { MOST_COUNTED, type RoomUse } from "../../sql/task_readiness.ts";
import type { Room, UnreadyTask } from "../../transactions/task_rows.ts";
import type { Database } from "../engine/database.ts";

/** Which rows a room has, by an index whose next columns are the readiness and the id. */
interface RoomSql {
  /** The unfinished tasks. */
  readonly tasks: string;
  /** Of these, those that are queued for room here. */
  readonly queued: string;
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
    queued: `readiness = ${READINESS.queuedInGroup}`,
    open: `readiness < ${READINESS.queuedInGroup}`,
    max: "gate_max",
  },
  // tasks of a workspace (project, workspace) that have a limit there
  workspace: {
    tasks: `tasks INDEXED BY tasks_in_workspace
      WHERE project = ? AND workspace = ? AND workspace_max IS NOT NULL
        AND state IN ('pending', 'running')`,
    queued: `readiness = ${READINESS.queuedInWorkspace}`,
    open: `readiness = ${READINESS.ready}`,
    max: "workspace_max",
  },
};

/** The values that name a room. */
function valuesOf(room: Room): SqlValue[] {
  return room.of === "group" ? [room.digest] : [room.project, room.name];
}

/** The limit of the newest task that is queued. */
export function findNewestMax(db: Database, room: Room): Found<number> {
  const { tasks, queued, max } = SQL[room.of];
  const newest = db.get(
    `SELECT ${max} AS max FROM ${tasks} AND ${queued} ORDER BY id DESC LIMIT 1`,
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

/** How full a room is for which tasks are queued. */
export function findRoomUse(db: Database, room: Room): RoomUse {
  const { tasks, open } = SQL[room.of];
  const max = findNewestMax(db, room);
  const first = db.get(
    `SELECT id FROM ${tasks} AND ${open} ORDER BY readiness, id LIMIT 1`,
    ...valuesOf(room),
  );
  return {
    max: max === "none" ? 0 : max,
    open: countOpen(db, room, MOST_COUNTED),
    ...(first === undefined ? {} : { first: text(first, "id") }),
  };
}

/** The task with the lowest id of those that are queued. */
export function findOldestQueued(db: Database, room: Room): Found<UnreadyTask> {
  const { tasks, queued } = SQL[room.of];
  const oldest = db.get(
    `SELECT ${UNREADY_TASK_COLUMNS} FROM ${tasks} AND ${queued} ORDER BY id LIMIT 1`,
    ...valuesOf(room),
  );
  return oldest === undefined ? "none" : toUnreadyTask(oldest);
}

/** Stores whether a pending task is ready. */
export function setReadiness(db: Database, taskId: string, readiness: Readiness): void {
  db.run("UPDATE tasks SET readiness = ? WHERE id = ?", READINESS[readiness], taskId);
}
