/**
 * Reads the tables `tasks` and `steps`: lists, and tasks for workers.
 *
 * @module
 */

import { IN_SESSION } from "../../sql/sessions.ts";
import type { ClaimedTask, Task, TaskQuery } from "../../task_records.ts";
import { TASK_STATES } from "../../task_records.ts";
import { json, text } from "../../sql/columns.ts";
import { type StoredPlan, TASK_COLUMNS, toClaimed, toTask } from "../../sql/tasks.ts";
import type { Database } from "../engine/database.ts";
import type { Row, SqlValue } from "../../sql/row.ts";
import { listRange, ordered, prefixEnd, where } from "../../sql/queries.ts";
import { newestIds, ofEachProject } from "../engine/newest.ts";
import {
  limitId,
  limitKeyOf,
  type LimitUse,
  READINESS_COLUMNS,
  readinessOf,
} from "../../sql/task_readiness.ts";
import type { LimitKey } from "../../transactions/task_rows.ts";
import { SqliteTaskRows } from "./sqlite_task_rows.ts";

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
    const tail = `${related.by} ${clause} ${ordered(query)} LIMIT ?`;
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

/** The other record by which tasks are asked for, and the way to its few tasks. */
function relatedBy({ delivery, parent, retryOf, session }: TaskQuery) {
  if ((delivery ?? parent ?? retryOf ?? session) === undefined) return undefined;
  const index = retryOf !== undefined
    ? "tasks_retrying"
    : parent !== undefined
    ? "tasks_of_parent"
    : "tasks_of_delivery";
  const is = {
    "delivery_id = ?": delivery,
    "parent_id = ?": parent,
    "retry_of = ?": retryOf,
    [IN_SESSION]: session,
  };
  return { by: session === undefined ? `INDEXED BY ${index}` : "", is };
}

/** Tasks whose id starts with `prefix`, at most two. */
export function findTasks(db: Database, prefix: string): Task[] {
  return readTasks(db, "WHERE id >= ? AND id < ? ORDER BY id LIMIT 2", [
    prefix,
    prefixEnd(prefix),
  ]);
}

/** Ended tasks whose triggers have not fired yet, oldest first. */
export function listTaskEnds(db: Database, limit: number): Task[] {
  return readTasks(
    db,
    "WHERE id IN (SELECT task_id FROM task_ends ORDER BY task_id LIMIT ?) ORDER BY id",
    [limit],
  );
}

/** Tasks selected by the SQL that follows `FROM tasks`. */
export function readTasks(db: Database, tail: string, values: readonly SqlValue[]): Task[] {
  const plans = new Map<string, StoredPlan>(); // most tasks of a list share a few plans
  const limits = new Map<string, LimitUse>(); // and those that are queued, a few limits
  const rowsOfTasks = new SqliteTaskRows(db);
  const useOf = (limit: LimitKey): LimitUse => {
    const key = limitId(limit);
    const use = limits.get(key) ?? rowsOfTasks.findLimitUse(limit);
    limits.set(key, use);
    return use;
  };
  const columns = `${TASK_COLUMNS}, ${READINESS_COLUMNS}`;
  return db.all(`SELECT ${columns} FROM tasks ${tail}`, ...values).map((row) => {
    const hash = row["plan_hash"];
    if (typeof hash !== "string") return toTask(row, { rows: [] });
    const plan = plans.get(hash) ?? readPlan(db, hash);
    plans.set(hash, plan);
    const limit = limitKeyOf(row);
    const use = limit === undefined ? undefined : useOf(limit);
    const readiness = readinessOf(row, { use, nodes: plan.workspace?.nodes });
    return toTask(row, { plan, rows: readSteps(db, text(row, "id")), readiness });
  });
}

/** A running task, with everything a worker needs. */
export function readClaimed(db: Database, id: string): ClaimedTask {
  const row = db.get(
    `SELECT ${TASK_COLUMNS}, tasks.trace, tasks.inputs, plans.plan,
       COALESCE(tasks.payload, deliveries.body, shared.body) AS given,
       COALESCE(deliveries.headers, shared.headers, '{}') AS headers,
       COALESCE(deliveries.url, shared.url, '') AS url,
       deliveries.via, deliveries.detail,
       COALESCE(deliveries.remote, '') AS remote FROM tasks
     JOIN plans ON plans.hash = tasks.plan_hash
     LEFT JOIN deliveries ON deliveries.id = tasks.delivery_id
     LEFT JOIN deliveries AS shared ON shared.id = deliveries.content_of WHERE tasks.id = ?`,
    id,
  );
  if (row === undefined) throw new Error(`Task ${id} has no plan`);
  return toClaimed(row, readSteps(db, id));
}

function readPlan(db: Database, hash: string): StoredPlan {
  const row = db.get("SELECT plan FROM plans WHERE hash = ?", hash);
  return row === undefined ? { steps: [] } : json(row, "plan") as StoredPlan;
}

function readSteps(db: Database, taskId: string): Row[] {
  return db.all("SELECT * FROM steps WHERE task_id = ?", taskId);
}
