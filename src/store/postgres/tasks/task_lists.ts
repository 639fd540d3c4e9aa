/**
 * Reads the tables `tasks`, `steps` and `plans`: lists of tasks, and single ones.
 *
 * @module
 */

import { IN_SESSION } from "../../sql/sessions.ts";
import { type Task, TASK_STATES, type TaskQuery } from "../../task_records.ts";
import { json, text } from "../../sql/columns.ts";
import { listRange, ordered, prefixEnd, where } from "../../sql/queries.ts";
import type { Row } from "../../sql/row.ts";
import { type StoredPlan, TASK_COLUMNS, toTask } from "../../sql/tasks.ts";
import { limitId, limitKeyOf, READINESS_COLUMNS, readinessOf } from "../../sql/task_readiness.ts";
import type { Session, Value } from "../database/connections.ts";
import { IS_BOUND } from "../functions/job_functions.ts";
import { listed, newestIds } from "../database/newest.ts";
import { readLimitUses } from "./limit_uses.ts";

/** Tasks, in the order of the list. */
export function listTasks(db: Session, query: TaskQuery): Promise<Task[]> {
  const { project, trigger, workflow, state, limit } = query;
  const own = { '"trigger" = ?': trigger, "workflow = ?": workflow };
  if (isOfFew(query) || (project ?? trigger ?? workflow ?? state) === undefined) {
    const { delivery, parent, retryOf, session } = query;
    const { clause, values } = where(Object.assign(
      { "delivery_id = ?": delivery, "parent_id = ?": parent, "retry_of = ?": retryOf },
      { [IN_SESSION]: session },
      { "project = ?": project, "state = ?": state },
      own,
      listRange(query, "created_at"),
    ));
    return readTasks(db, `${clause} ${ordered(query)} LIMIT ?`, [...values, limit]);
  }
  const ids = newestIds({
    table: "tasks",
    among: { column: "state", values: state === undefined ? TASK_STATES : [state] },
    conditions: Object.assign(own, listRange(query, "created_at", listed("id"))),
  }, query);
  return readTasks(db, `WHERE id IN (${ids.sql}) ${ordered(query)}`, ids.values);
}

/** Whether something is asked for that only few tasks have: all of them can be looked at. */
function isOfFew({ ids, delivery, parent, retryOf, session }: TaskQuery): boolean {
  return ids !== undefined || (delivery ?? parent ?? retryOf ?? session) !== undefined;
}

/** Tasks whose id starts with `prefix`, at most two. */
export function findTasks(db: Session, prefix: string): Promise<Task[]> {
  return readTasks(db, "WHERE id >= ? AND id < ? ORDER BY id LIMIT 2", [prefix, prefixEnd(prefix)]);
}

/**
 * Time for which a row of `task_ends` is left to the node that has read it. This only saves work: if
 * two nodes handle one end, its triggers still fire once, because the events have ids.
 */
const RESERVED = "interval '10 seconds'";

/**
 * Ended tasks whose triggers have not fired yet, oldest first, reserved for this node. Their rows in
 * `task_ends` stay until the triggers have fired, so that a crash in between loses nothing.
 */
export async function listTaskEnds(db: Session, limit: number): Promise<Task[]> {
  const rows = await db.all(
    `UPDATE task_ends SET node = ?1, reserved_until = now() + ${RESERVED} WHERE task_id IN (
       SELECT task_id FROM task_ends WHERE node = ?1 OR reserved_until <= now()
       ORDER BY task_id LIMIT ?2 FOR UPDATE SKIP LOCKED)
     RETURNING task_id`,
    db.owner.node,
    limit,
  );
  const ids = rows.map((row) => text(row, "task_id"));
  return await readTasks(db, "WHERE id = ANY (?) ORDER BY id", [ids]);
}

/** Tasks selected by the SQL that follows `FROM tasks`. */
export async function readTasks(
  db: Session,
  tail: string,
  values: readonly Value[],
): Promise<Task[]> {
  const columns = `${TASK_COLUMNS}, ${READINESS_COLUMNS}, ${NODE_COLUMNS}`;
  const rows = await db.all(`SELECT ${columns} FROM tasks ${tail}`, ...values);
  const plans = await readPlans(db, rows);
  const uses = await readLimitUses(db, rows);
  const steps = await readSteps(db, rows.map((row) => text(row, "id")));
  return rows.map((row) => {
    const hash = row["plan_hash"];
    if (typeof hash !== "string") return toTask(row, { rows: [] });
    const plan = plans.get(hash) ?? { steps: [] };
    const limit = limitKeyOf(row);
    const use = limit === undefined ? undefined : uses.get(limitId(limit));
    const readiness = readinessOf(row, { use, nodes: plan.workspace?.nodes });
    return toTask(row, { plan, rows: steps.get(text(row, "id")) ?? [], readiness });
  });
}

/**
 * The node that claimed a task last. For a retry that keeps the directory of its task, and for a task
 * that was parked, `only_node` is the node that has their files, as `svc.placed` decides it.
 */
const NODE_COLUMNS = `tasks.node,
  (SELECT name FROM nodes WHERE nodes.id = tasks.node) AS node_name,
  CASE WHEN ${IS_BOUND} AND EXISTS (
    SELECT 1 FROM nodes WHERE nodes.id = tasks.node) THEN tasks.node END AS only_node`;

/** The plans of some tasks, by their hash: most tasks of a list share a few. */
async function readPlans(db: Session, tasks: readonly Row[]): Promise<Map<string, StoredPlan>> {
  const hashes = new Set(
    tasks.flatMap(({ plan_hash: hash }) => typeof hash === "string" ? hash : []),
  );
  if (hashes.size === 0) return new Map();
  const rows = await db.all("SELECT hash, plan FROM plans WHERE hash = ANY(?)", [...hashes]);
  return new Map(rows.map((row) => [text(row, "hash"), json(row, "plan") as StoredPlan]));
}

/** The rows of the steps of some tasks, by the id of the task. */
export async function readSteps(
  db: Session,
  taskIds: readonly string[],
): Promise<Map<string, Row[]>> {
  if (taskIds.length === 0) return new Map();
  const rows = await db.all("SELECT * FROM steps WHERE task_id = ANY(?)", taskIds);
  return Map.groupBy(rows, (row) => text(row, "task_id"));
}
