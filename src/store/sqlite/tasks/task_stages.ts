/**
 * Where a pending task stands: it waits for its time, then for room in its group, then for room in its
 * workspace, and is ready. It takes room in each stage it has passed until it ends, so whoever ends
 * lets in the next one, and no look-up grows with the queue.
 *
 * @module
 */

import type { NewTask } from "../../task_records.ts";
import { number, text } from "../engine/columns.ts";
import type { Database, Row, SqlValue } from "../engine/database.ts";
import { digestOf } from "../engine/digest.ts";

/** Stages: what a pending task waits for. */
export const STAGES = { ready: 0, workspace: 1, group: 2, time: 3 } as const;

/** What decides whether a task has room. */
export interface Place {
  /** Its group; none when absent. */
  readonly gate?: Uint8Array;
  /** Tasks of its group that may be under way at once. */
  readonly gateMax?: number;
  /** Project of its workspace. */
  readonly project: string;
  /** Its workspace. */
  readonly workspace: string;
  /** Tasks that may be under way in its workspace at once; any number when absent. */
  readonly workspaceMax?: number;
}

/** Where a task that has come has to wait, if anywhere; who waits already goes first. */
export function stageFor(db: Database, place: Place): number {
  const { gate, gateMax = 1 } = place;
  if (gate !== undefined && isGroupFull(db, gate, gateMax)) return STAGES.group;
  return workspaceStage(db, place);
}

/** Lets in those who have room now; to be called when a task has been stored or has ended. */
export function promoteWaiting(db: Database, place: Place): void {
  if (place.gate !== undefined) letIntoGroup(db, place.gate);
  if (place.workspaceMax !== undefined) letIntoWorkspace(db, place);
}

/** The group a new task belongs to and the room in it. */
export function placeOf(task: NewTask): Place {
  const { project, workspace, concurrency, workspaceMax } = task;
  return {
    project,
    workspace,
    ...(concurrency === undefined ? {} : {
      gate: digestOf(project, task.trigger, concurrency.key),
      gateMax: concurrency.max,
    }),
    ...(workspaceMax === undefined ? {} : { workspaceMax }),
  };
}

/** Tasks of a group (gate) that have not ended; the index is by stage. */
export const OF_GROUP = `tasks INDEXED BY tasks_gated
  WHERE gate = ? AND state IN ('pending', 'running')`;

/** Tasks with a limit in a workspace (project, workspace) that have not ended; the index is by stage. */
const OF_WORKSPACE = `tasks INDEXED BY tasks_in_workspace
  WHERE project = ? AND workspace = ? AND workspace_max IS NOT NULL
    AND state IN ('pending', 'running')`;

function letIntoGroup(db: Database, gate: Uint8Array): void {
  for (;;) {
    const { newest, oldest } = waiting(db, `${OF_GROUP} AND held = 2`, [gate]);
    if (newest === undefined || oldest === undefined) return;
    const max = number(newest, "gate_max");
    if (countOpen(db, `${OF_GROUP} AND held < 2`, [gate, max]) >= max) return;
    const place = toPlace(oldest);
    db.run("UPDATE tasks SET held = ? WHERE id = ?", workspaceStage(db, place), text(oldest, "id"));
    if (place.workspaceMax !== undefined) letIntoWorkspace(db, place);
  }
}

function letIntoWorkspace(db: Database, { project, workspace }: Place): void {
  for (;;) {
    const { newest, oldest } = waiting(db, `${OF_WORKSPACE} AND held = 1`, [project, workspace]);
    if (newest === undefined || oldest === undefined) return;
    const max = number(newest, "workspace_max");
    if (countOpen(db, `${OF_WORKSPACE} AND held = 0`, [project, workspace, max]) >= max) return;
    db.run("UPDATE tasks SET held = 0 WHERE id = ?", text(oldest, "id"));
  }
}

/** Of those that wait: the newest one knows the latest settings, the oldest one goes first. */
function waiting(
  db: Database,
  stage: string,
  values: readonly SqlValue[],
): { newest: Row | undefined; oldest: Row | undefined } {
  const columns = `id, ${PLACE_COLUMNS}`;
  return {
    newest: db.get(`SELECT ${columns} FROM ${stage} ORDER BY id DESC LIMIT 1`, ...values),
    oldest: db.get(`SELECT ${columns} FROM ${stage} ORDER BY id LIMIT 1`, ...values),
  };
}

function isGroupFull(db: Database, gate: Uint8Array, max: number): boolean {
  return isQueued(db, `${OF_GROUP} AND held = 2`, [gate]) ||
    countOpen(db, `${OF_GROUP} AND held < 2`, [gate, max]) >= max;
}

function workspaceStage(db: Database, { project, workspace, workspaceMax }: Place): number {
  if (workspaceMax === undefined) return STAGES.ready;
  const at = [project, workspace];
  const full = isQueued(db, `${OF_WORKSPACE} AND held = 1`, at) ||
    countOpen(db, `${OF_WORKSPACE} AND held = 0`, [...at, workspaceMax]) >= workspaceMax;
  return full ? STAGES.workspace : STAGES.ready;
}

function isQueued(db: Database, stage: string, values: readonly SqlValue[]): boolean {
  return db.get(`SELECT 1 FROM ${stage} LIMIT 1`, ...values) !== undefined;
}

/** Tasks that have passed a stage; the last value is the number after which nobody counts on. */
function countOpen(db: Database, stage: string, values: readonly SqlValue[]): number {
  const row = db.get(`SELECT count(*) AS n FROM (SELECT 1 FROM ${stage} LIMIT ?)`, ...values);
  return number(row ?? {}, "n");
}

/** Columns of a row that {@linkcode toPlace} takes. */
export const PLACE_COLUMNS = "gate, gate_max, project, workspace, workspace_max";

/** The place of a task that is stored. */
export function toPlace(row: Row): Place {
  const gate = row["gate"];
  const [gateMax, workspaceMax] = [row["gate_max"], row["workspace_max"]];
  return {
    ...(gate instanceof Uint8Array ? { gate } : {}),
    ...(typeof gateMax === "number" ? { gateMax } : {}),
    project: text(row, "project"),
    workspace: text(row, "workspace"),
    ...(typeof workspaceMax === "number" ? { workspaceMax } : {}),
  };
}
