/**
 * Pending tasks that wait for room, in the table `tasks`: fetches how full groups and workspaces
 * are, and promotes the next tasks. What a task waits for and which one is next is decided in
 * `store/rules/`. No query grows with the length of the queue.
 *
 * @module
 */

import type { TaskLimits, WorkspaceLimit } from "../../rules/limits.ts";
import type { Found } from "../../rules/needs.ts";
import {
  decidePromotion,
  decideWait,
  type PromotionFacts,
  type Queue,
  type RoomFacts,
  type Wait,
} from "../../rules/waiting.ts";
import { number, text } from "../../sql/columns.ts";
import type { Database } from "../engine/database.ts";
import type { Row, SqlValue } from "../../sql/row.ts";
import { settle } from "../../rules/settle.ts";
import { WAIT_REASON } from "../../sql/wait_reasons.ts";

/** What a due task waits for, given how full its limits are now. */
export function findWait(
  db: Database,
  limits: Pick<TaskLimits, "group" | "workspace">,
): Wait {
  const { group, workspace } = limits;
  const inGroup = [group?.digest ?? null];
  const inWorkspace = [workspace.project, workspace.name];
  return settle<RoomFacts, Wait>((known) => decideWait(limits, known), {
    groupQueue: () => findNewestMax(db, GROUP, inGroup),
    groupOpen: () => countOpen(db, GROUP, [...inGroup, group?.max ?? 0]),
    workspaceQueue: () => findNewestMax(db, WORKSPACE, inWorkspace),
    workspaceOpen: () => countOpen(db, WORKSPACE, [...inWorkspace, workspace.max ?? 0]),
  });
}

/** Stores what a task waits for, and promotes others where it brings a new limit. */
export function setWait(
  db: Database,
  taskId: string,
  { waitsFor, bringsNewLimit }: Wait,
  limits: TaskLimits,
): void {
  db.run("UPDATE tasks SET held = ? WHERE id = ?", WAIT_REASON[waitsFor], taskId);
  if (bringsNewLimit) promoteWaiting(db, limits);
}

/**
 * Promotes the tasks that have room now; to be called when a task in these limits has ended or
 * given its room back.
 */
export function promoteWaiting(db: Database, { group, workspace }: TaskLimits): void {
  if (group !== undefined) promoteInGroup(db, group.digest);
  if (workspace.max !== undefined) promoteInWorkspace(db, workspace);
}

function promoteInGroup(db: Database, digest: Uint8Array): void {
  for (;;) {
    const next = findNext(db, GROUP, [digest]);
    if (next === "none") return;
    const limits = { workspace: next.limits.workspace }; // the task has passed its group
    setWait(db, next.id, findWait(db, limits), limits);
  }
}

function promoteInWorkspace(db: Database, { project, name }: WorkspaceLimit): void {
  for (;;) {
    const next = findNext(db, WORKSPACE, [project, name]);
    if (next === "none") return;
    db.run("UPDATE tasks SET held = ? WHERE id = ?", WAIT_REASON.none, next.id);
  }
}

/** A task that waits for room. */
interface WaitingTask {
  readonly id: string;
  readonly limits: TaskLimits;
}

/**
 * A limit with its tasks: which rows, by an index whose next columns are the wait reason and the
 * id.
 */
interface Room {
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

const GROUP: Room = {
  tasks: IN_GROUP,
  waiting: `held = ${WAIT_REASON.group}`,
  open: `held < ${WAIT_REASON.group}`,
  max: "gate_max",
};

/** Tasks of a workspace (project, workspace) that have a limit there. */
const WORKSPACE: Room = {
  tasks: `tasks INDEXED BY tasks_in_workspace
    WHERE project = ? AND workspace = ? AND workspace_max IS NOT NULL
      AND state IN ('pending', 'running')`,
  waiting: `held = ${WAIT_REASON.workspace}`,
  open: `held = ${WAIT_REASON.none}`,
  max: "workspace_max",
};

function findNext(db: Database, room: Room, at: readonly SqlValue[]): Found<WaitingTask> {
  return settle<PromotionFacts<WaitingTask>, { next: Found<WaitingTask> }>(decidePromotion, {
    queue: () => findQueue(db, room, at),
    open: ({ queue = "none" }) =>
      countOpen(db, room, [...at, queue === "none" ? 0 : queue.newestMax]),
  }).next;
}

function findQueue(
  db: Database,
  room: Room,
  at: readonly SqlValue[],
): Found<Queue<WaitingTask>> {
  const newestMax = findNewestMax(db, room, at);
  if (newestMax === "none") return "none";
  const oldest = db.get(
    `SELECT id, ${LIMIT_COLUMNS} FROM ${room.tasks} AND ${room.waiting} ORDER BY id LIMIT 1`,
    ...at,
  ) ?? {};
  return { oldest: { id: text(oldest, "id"), limits: toLimits(oldest) }, newestMax };
}

/** The limit of the newest task that waits for room. */
function findNewestMax(
  db: Database,
  { tasks, waiting, max }: Room,
  at: readonly SqlValue[],
): Found<number> {
  const from = `FROM ${tasks} AND ${waiting}`;
  const newest = db.get(`SELECT ${max} AS max ${from} ORDER BY id DESC LIMIT 1`, ...at);
  return newest === undefined ? "none" : number(newest, "max");
}

/** Number of tasks that occupy room; the last value bounds how far they are counted. */
function countOpen(db: Database, { tasks, open }: Room, at: readonly SqlValue[]): number {
  const counted = `SELECT 1 FROM ${tasks} AND ${open} LIMIT ?`;
  return number(db.get(`SELECT count(*) AS n FROM (${counted})`, ...at) ?? {}, "n");
}

/** Columns of a row that {@linkcode toLimits} takes. */
export const LIMIT_COLUMNS = "gate, gate_max, project, workspace, workspace_max";

/** The limits of a stored task. */
export function toLimits(row: Row): TaskLimits {
  const digest = row["gate"];
  const max = row["workspace_max"];
  return {
    ...(digest instanceof Uint8Array ? { group: { digest, max: number(row, "gate_max") } } : {}),
    workspace: {
      project: text(row, "project"),
      name: text(row, "workspace"),
      ...(typeof max === "number" ? { max } : {}),
    },
  };
}
