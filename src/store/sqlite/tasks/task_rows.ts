/**
 * The tables `tasks` and `steps`. When a task is ready is decided in `store/rules/readiness.ts`.
 *
 * @module
 */

import type { Delivery } from "../../delivery_records.ts";
import type { ClaimedTask, NewTask, StepRecord, Task, TaskQuery } from "../../task_records.ts";
import { TASK_STATES } from "../../task_records.ts";
import { json, storable, text } from "../../sql/columns.ts";
import { type StoredPlan, TASK_COLUMNS, toClaimed, toTask } from "../../sql/tasks.ts";
import type { Database } from "../engine/database.ts";
import type { Row, SqlValue } from "../../sql/row.ts";
import { listRange, ordered, prefixEnd, where } from "../../sql/queries.ts";
import { newestIds, ofEachProject } from "../engine/newest.ts";
import { READINESS } from "../../sql/readiness.ts";
import {
  READINESS_COLUMNS,
  readinessOf,
  roomKey,
  roomOf,
  type RoomUse,
} from "../../sql/task_readiness.ts";
import type { Room, Scheduling } from "../../transactions/task_rows.ts";
import { usePlan } from "./plan_rows.ts";
import { findRoomUse } from "./queue_rows.ts";

/** Stores a task that `delivery` starts; a task without a plan has failed from the start. */
export function insertTask(
  db: Database,
  task: NewTask,
  { delivery, scheduling }: {
    readonly delivery: Pick<Delivery, "id" | "receivedAt">;
    readonly scheduling: Scheduling;
  },
): void {
  const { plan } = task;
  const { limits: { group, workspace } } = scheduling;
  if (plan !== undefined) usePlan(db, plan);
  db.run(
    `INSERT INTO tasks (id, project, "trigger", workflow, workspace, state, reason, delivery_id,
       plan_hash, payload, created_at, finished_at, parent_id, depth, readiness, run_at, gate, gate_max,
       workspace_max, debounce, trace)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    task.id,
    task.project,
    task.trigger,
    task.workflow,
    task.workspace,
    plan === undefined ? "failed" : "pending",
    plan === undefined ? task.missing ?? "" : "",
    delivery.id,
    plan?.hash ?? null,
    task.payload ?? null,
    delivery.receivedAt,
    plan === undefined ? delivery.receivedAt : null,
    task.parentId ?? null,
    task.depth ?? 0,
    READINESS[scheduling.readiness],
    scheduling.runAt ?? null,
    group?.digest ?? null,
    group?.max ?? null,
    workspace.max ?? null,
    scheduling.debounce ?? null,
    task.trace ?? null,
  );
}

/** Tasks, in the order of the list. */
export function listTasks(db: Database, query: TaskQuery): Task[] {
  const { project, trigger, workflow, state, limit } = query;
  const own = {
    "project = ?": project,
    '"trigger" = ?': trigger,
    "workflow = ?": workflow,
  };
  const rows = listRange(query, "created_at");
  const related = relatedBy(query);
  if (related !== undefined) {
    const { clause, values } = where(Object.assign(own, related.is, { "state = ?": state }, rows));
    const tail = `INDEXED BY ${related.index} ${clause} ${ordered(query)} LIMIT ?`;
    return readTasks(db, tail, [...values, limit]);
  }
  if (project === undefined) {
    if ((trigger ?? workflow ?? state) !== undefined) {
      return ofEachProject(db, "tasks", query, listTasks);
    }
    const { clause, values } = where(rows);
    return readTasks(db, `${clause} ${ordered(query)} LIMIT ?`, [...values, limit]);
  }
  const ids = newestIds({
    table: "tasks",
    index: trigger !== undefined
      ? "tasks_of_trigger"
      : workflow !== undefined
      ? "tasks_of_workflow"
      : "tasks_of_project",
    column: "state",
    among: state === undefined ? TASK_STATES : TASK_STATES.filter((known) => known === state),
    conditions: Object.assign(own, rows),
    limit,
    oldestFirst: query.oldestFirst === true,
  });
  return readTasks(db, `WHERE id IN (${ids.sql}) ${ordered(query)}`, ids.values);
}

/** The other record by which tasks are asked for, and the index that has its few tasks together. */
function relatedBy({ delivery, parent, retryOf }: TaskQuery) {
  if ((delivery ?? parent ?? retryOf) === undefined) return undefined;
  const index = retryOf !== undefined
    ? "tasks_retrying"
    : parent !== undefined
    ? "tasks_of_parent"
    : "tasks_of_delivery";
  const is = { "delivery_id = ?": delivery, "parent_id = ?": parent, "retry_of = ?": retryOf };
  return { index, is };
}

/** Tasks whose id starts with `prefix`, at most two. */
export function findTasks(db: Database, prefix: string): Task[] {
  return readTasks(db, "WHERE id >= ? AND id < ? ORDER BY id LIMIT 2", [
    prefix,
    prefixEnd(prefix),
  ]);
}

/** Tasks selected by the SQL that follows `FROM tasks`. */
export function readTasks(db: Database, tail: string, values: readonly SqlValue[]): Task[] {
  const plans = new Map<string, StoredPlan>(); // most tasks of a list share a few plans
  const rooms = new Map<string, RoomUse>(); // and those that are queued, a few rooms
  const useOf = (room: Room): RoomUse => {
    const key = roomKey(room);
    const use = rooms.get(key) ?? findRoomUse(db, room);
    rooms.set(key, use);
    return use;
  };
  const columns = `${TASK_COLUMNS}, ${READINESS_COLUMNS}`;
  return db.all(`SELECT ${columns} FROM tasks ${tail}`, ...values).map((row) => {
    const hash = row["plan_hash"];
    if (typeof hash !== "string") return toTask(row, { rows: [] });
    const plan = plans.get(hash) ?? readPlan(db, hash);
    plans.set(hash, plan);
    const room = roomOf(row);
    const use = room === undefined ? undefined : useOf(room);
    const readiness = readinessOf(row, { use, nodes: plan.workspace?.nodes });
    return toTask(row, { plan, rows: readSteps(db, text(row, "id")), readiness });
  });
}

/** A running task, with everything a worker needs. */
export function readClaimed(db: Database, id: string): ClaimedTask {
  const row = db.get(
    `SELECT ${TASK_COLUMNS}, tasks.trace, plans.plan,
       COALESCE(tasks.payload, deliveries.body, shared.body) AS given,
       COALESCE(deliveries.headers, shared.headers, '{}') AS headers,
       COALESCE(deliveries.url, shared.url, '') AS url,
       deliveries.via, deliveries.detail,
       COALESCE(deliveries.remote, '') AS remote,
       EXISTS (SELECT 1 FROM inbox WHERE task_id = tasks.id) AS has_messages FROM tasks
     JOIN plans ON plans.hash = tasks.plan_hash
     LEFT JOIN deliveries ON deliveries.id = tasks.delivery_id
     LEFT JOIN deliveries AS shared ON shared.id = deliveries.content_of WHERE tasks.id = ?`,
    id,
  );
  if (row === undefined) throw new Error(`Task ${id} has no plan`);
  return toClaimed(row, readSteps(db, id));
}

/** Stores the state of a step. */
export function saveStep(db: Database, taskId: string, step: StepRecord): void {
  db.run(
    `INSERT OR REPLACE INTO steps (task_id, position, id, state, exit_code, reason, started_at,
       finished_at, process_group, attempt, outputs) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    taskId,
    step.position,
    step.id,
    step.state,
    step.exitCode ?? null,
    storable(step.reason),
    step.startedAt ?? null,
    step.finishedAt ?? null,
    step.processGroup ?? null,
    step.attempt ?? 1,
    step.outputs === undefined ? null : JSON.stringify(step.outputs),
  );
}

/** Stores the task's own directory; empty when it has none any more. */
export function setTaskDirectory(db: Database, taskId: string, directory: string): void {
  db.run("UPDATE tasks SET directory = NULLIF(?, '') WHERE id = ?", directory, taskId);
}

function readPlan(db: Database, hash: string): StoredPlan {
  const row = db.get("SELECT plan FROM plans WHERE hash = ?", hash);
  return row === undefined ? { steps: [] } : json(row, "plan") as StoredPlan;
}

function readSteps(db: Database, taskId: string): Row[] {
  return db.all("SELECT * FROM steps WHERE task_id = ?", taskId);
}
