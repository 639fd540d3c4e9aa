/**
 * The tables `tasks`, `plans` and `steps`.
 *
 * @module
 */

import type { Delivery } from "../delivery_records.ts";
import type { ListQuery } from "../list_query.ts";
import type { Counts } from "../store.ts";
import type {
  ClaimedTask,
  NewTask,
  StepRecord,
  StepState,
  Task,
  TaskEnd,
  TaskState,
} from "../task_records.ts";
import { bytes, json, number, optionalNumber, storable, text } from "./columns.ts";
import type { Database, Row } from "./database.ts";
import { prefixEnd, where } from "./queries.ts";

/** Stores a task that `delivery` starts; without a plan it is failed from the start. */
export function insertTask(
  db: Database,
  task: NewTask,
  delivery: Pick<Delivery, "id" | "receivedAt">,
): void {
  const { plan } = task;
  if (plan !== undefined) db.run("INSERT OR IGNORE INTO plans VALUES (?, ?)", plan.hash, plan.json);
  db.run(
    `INSERT INTO tasks (id, project, "trigger", workflow, workspace, state, reason, delivery_id,
       plan_hash, payload, created_at, finished_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    task.id,
    task.project,
    task.trigger,
    task.workflow,
    task.workspace,
    plan === undefined ? "failed" : "pending",
    task.missing ?? "",
    delivery.id,
    plan?.hash ?? null,
    task.payload ?? null,
    delivery.receivedAt,
    plan === undefined ? delivery.receivedAt : null,
  );
}

const TASKS =
  "SELECT tasks.*, plans.plan FROM tasks LEFT JOIN plans ON plans.hash = tasks.plan_hash";

/** Newest first. */
export function listTasks(db: Database, query: ListQuery): Task[] {
  const { clause, values } = where({
    "project = ?": query.project,
    '"trigger" = ?': query.trigger,
    "created_at >= ?": query.since,
  });
  const rows = db.all(`${TASKS} ${clause} ORDER BY tasks.id DESC LIMIT ?`, ...values, query.limit);
  return rows.map((row) => toTask(db, row));
}

/** At most two of those whose id starts with `prefix`. */
export function findTasks(db: Database, prefix: string): Task[] {
  return db.all(
    `${TASKS} WHERE tasks.id >= ? AND tasks.id < ? ORDER BY tasks.id LIMIT 2`,
    prefix,
    prefixEnd(prefix),
  ).map((row) => toTask(db, row));
}

/** Marks the oldest pending tasks running and hands them over. */
export function claimTasks(db: Database, limit: number, now: number): ClaimedTask[] {
  const ids = db.all("SELECT id FROM tasks WHERE state = 'pending' ORDER BY id LIMIT ?", limit);
  return ids.map((row) => {
    db.run(
      "UPDATE tasks SET state = 'running', started_at = COALESCE(started_at, ?) WHERE id = ?",
      now,
      text(row, "id"),
    );
    return claimed(db, text(row, "id"));
  });
}

/** Hands over the tasks whose state is running; at the start these are the interrupted ones. */
export function claimInterrupted(db: Database, _now: number): ClaimedTask[] {
  const ids = db.all("SELECT id FROM tasks WHERE state = 'running' ORDER BY id");
  return ids.map((row) => claimed(db, text(row, "id")));
}

/** Counts one more restart of each task. */
export function countRestarts(db: Database, taskIds: readonly string[]): void {
  for (const id of taskIds) db.run("UPDATE tasks SET restarts = restarts + 1 WHERE id = ?", id);
}

/** Stores how a step stands. */
export function saveStep(db: Database, taskId: string, step: StepRecord): void {
  db.run(
    "INSERT OR REPLACE INTO steps VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    taskId,
    step.position,
    step.id,
    step.state,
    step.exitCode ?? null,
    storable(step.reason),
    step.startedAt ?? null,
    step.finishedAt ?? null,
    step.processGroup ?? null,
  );
}

/** Ends a running task, once. */
export function finishTask(db: Database, end: TaskEnd): boolean {
  return db.run(
    "UPDATE tasks SET state = ?, reason = ?, finished_at = ? WHERE id = ? AND state = 'running'",
    end.state,
    storable(end.reason),
    end.now,
    end.taskId,
  ) === 1;
}

/** Puts a running task back in the queue. */
export function requeueTask(db: Database, taskId: string): void {
  db.run("UPDATE tasks SET state = 'pending' WHERE id = ? AND state = 'running'", taskId);
}

/** Tasks that wait and that run; both from small partial indexes. */
export function counts(db: Database): Counts {
  const of = (state: string) =>
    number(db.get(`SELECT count(*) AS n FROM tasks WHERE state = '${state}'`) ?? {}, "n");
  return { pending: of("pending"), running: of("running") };
}

function claimed(db: Database, id: string): ClaimedTask {
  const row = db.get(
    `SELECT tasks.*, plans.plan, COALESCE(tasks.payload, deliveries.body) AS given,
       COALESCE(deliveries.headers, '{}') AS headers FROM tasks
     JOIN plans ON plans.hash = tasks.plan_hash
     LEFT JOIN deliveries ON deliveries.id = tasks.delivery_id WHERE tasks.id = ?`,
    id,
  );
  if (row === undefined) throw new Error(`Task ${id} has no plan`);
  return {
    task: toTask(db, row),
    plan: text(row, "plan"),
    payload: bytes(row, "given"),
    headers: json(row, "headers") as Record<string, string>,
  };
}

function toTask(db: Database, row: Row): Task {
  const id = text(row, "id");
  const state = text(row, "state") as TaskState;
  return {
    id,
    project: text(row, "project"),
    trigger: text(row, "trigger"),
    workflow: text(row, "workflow"),
    workspace: text(row, "workspace"),
    state,
    reason: text(row, "reason"),
    deliveryId: text(row, "delivery_id"),
    createdAt: number(row, "created_at"),
    ...optionalNumber(row, "started_at", "startedAt"),
    ...optionalNumber(row, "finished_at", "finishedAt"),
    restarts: number(row, "restarts"),
    steps: row["plan"] === null ? [] : stepsOf(db, id, json(row, "plan") as StoredPlan, state),
  };
}

/** The part of a plan that is looked at here. */
type StoredPlan = { readonly steps: readonly { readonly id: string }[] };

/** Steps that never started have no row: they wait, or were skipped when the task ended. */
function stepsOf(db: Database, taskId: string, plan: StoredPlan, state: TaskState): StepRecord[] {
  const rows = db.all("SELECT * FROM steps WHERE task_id = ? ORDER BY position", taskId);
  const known = new Map(rows.map((row) => [number(row, "position"), toStep(row)]));
  const waiting: StepState = state === "pending" || state === "running" ? "pending" : "skipped";
  return plan.steps.map((step, position) =>
    known.get(position) ?? { position, id: step.id, state: waiting, reason: "" }
  );
}

function toStep(row: Row): StepRecord {
  return {
    position: number(row, "position"),
    id: text(row, "id"),
    state: text(row, "state") as StepState,
    reason: text(row, "reason"),
    ...optionalNumber(row, "exit_code", "exitCode"),
    ...optionalNumber(row, "started_at", "startedAt"),
    ...optionalNumber(row, "finished_at", "finishedAt"),
    ...optionalNumber(row, "process_group", "processGroup"),
  };
}
