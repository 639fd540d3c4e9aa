/**
 * Rows of the tables `tasks` and `steps` as records, and the plan of a task.
 *
 * @module
 */

import type { AskedBy } from "../../base/asked_by.ts";
import { defined } from "../../base/defined.ts";
import {
  type Coverage,
  COVERS_BODY,
  COVERS_EVERYTHING,
  COVERS_NOTHING,
} from "../../signatures/coverage.ts";
import type { FailureKind } from "../../agents/agent_failure.ts";
import { plannedSteps } from "../../resources/step_list.ts";
import type { DeliveryDetail } from "../delivery_records.ts";
import type { TaskFiles } from "../retention_store.ts";
import type {
  ClaimedTask,
  ReachedHost,
  StepRecord,
  StepState,
  Task,
  TaskReadiness,
  TaskState,
} from "../task_records.ts";
import { isUnfinished } from "../task_records.ts";
import { bytes, json, number, optionalNumber, text } from "./columns.ts";
import type { Row } from "./row.ts";
import type { SqlSession } from "./session.ts";

/**
 * Columns that {@linkcode toTask} takes: without the payload, which can be large. Where nodes share
 * the store, it also takes `node` and `node_name`.
 */
export const TASK_COLUMNS = `tasks.id, tasks.project, tasks."trigger", tasks.workflow,
  tasks.workspace, tasks.state, tasks.reason, tasks.delivery_id, tasks.plan_hash, tasks.created_at,
  tasks.started_at, tasks.finished_at, tasks.restarts, tasks.parent_id, tasks.retry_of,
  tasks.retried_by, tasks.depth, tasks.directory, tasks.cancel_reason, tasks.active_ms, tasks.root_id,
  tasks.messages, tasks.read_up_to, tasks.conversation`;

/** The states of a task that has ended. */
export const ENDED_STATES: readonly TaskState[] = ["succeeded", "failed", "cancelled"];

/** The part of a stored plan that the rows of tasks are read with. */
export interface StoredPlan {
  readonly steps: readonly { readonly id: string }[];
  readonly finally?: readonly { readonly id: string }[];
  readonly workspace?: { readonly nodes?: readonly string[] };
}

/** The plan and the rows of the steps of a task. */
export interface StoredSteps {
  /** Absent when something that the task needs was missing. */
  readonly plan?: StoredPlan;
  /** The rows of its steps, in any order. */
  readonly rows: readonly Row[];
  /** Absent if the query did not read it. */
  readonly readiness?: TaskReadiness | undefined;
}

/** Converts a row with {@linkcode TASK_COLUMNS}, and the rows of its steps. */
export function toTask(row: Row, stored: StoredSteps): Task {
  const state = text(row, "state") as TaskState;
  return {
    id: text(row, "id"),
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
    parentId: textOrEmpty(row, "parent_id"),
    rootId: textOrEmpty(row, "root_id"),
    retryOf: textOrEmpty(row, "retry_of"),
    ...(row["retried_by"] === null ? {} : { retriedBy: json(row, "retried_by") as AskedBy }),
    depth: number(row, "depth"),
    directory: textOrEmpty(row, "directory"),
    ...(row["node"] === undefined || row["node"] === "" ? {} : { node: text(row, "node") }),
    ...(typeof row["node_name"] === "string" ? { nodeName: row["node_name"] } : {}),
    ...defined({ readiness: stored.readiness }),
    cancelReason: textOrEmpty(row, "cancel_reason"),
    activeMs: number(row, "active_ms"),
    ...(row["conversation"] === null ? {} : { conversation: text(row, "conversation") }),
    ...unreadOf(row),
    steps: toSteps(stored, state),
  };
}

function unreadOf(row: Row): Pick<Task, "unread"> {
  const unread = number(row, "messages") - number(row, "read_up_to");
  return unread > 0 ? { unread } : {};
}

/**
 * The steps of a task. Steps that never started have no row: they are pending, or were skipped when
 * the task ended. So were those that were to run again.
 */
function toSteps({ plan, rows }: StoredSteps, state: TaskState): StepRecord[] {
  if (plan === undefined) return [];
  const known = new Map(rows.map((row) => [number(row, "position"), toStep(row)]));
  const begun: StepState = isUnfinished(state) ? "pending" : "skipped";
  return plannedSteps(plan).map((step, position) => {
    const record = known.get(position);
    if (record === undefined) return { position, id: step.id, state: begun, reason: "" };
    return record.state === "pending" ? { ...record, state: begun } : record;
  });
}

function toStep(row: Row): StepRecord {
  const [attempt, round] = [number(row, "attempt"), number(row, "round")];
  return {
    position: number(row, "position"),
    id: text(row, "id"),
    state: text(row, "state") as StepState,
    reason: text(row, "reason"),
    ...optionalNumber(row, "exit_code", "exitCode"),
    ...optionalNumber(row, "started_at", "startedAt"),
    ...optionalNumber(row, "finished_at", "finishedAt"),
    ...optionalNumber(row, "process_group", "processGroup"),
    ...(attempt === 1 ? {} : { attempt }),
    ...(round === 1 ? {} : { round }),
    ...(row["failure"] === null ? {} : { failure: text(row, "failure") as FailureKind }),
    ...(row["network"] === null ? {} : { network: json(row, "network") as ReachedHost[] }),
    ...(row["session"] === null ? {} : { session: text(row, "session") }),
    ...optionalNumber(row, "read_from", "readFrom"),
    ...(row["outputs"] === null ? {} : { outputs: json(row, "outputs") as Record<string, string> }),
  };
}

function textOrEmpty(row: Row, column: string): string {
  return row[column] === null ? "" : text(row, column);
}

/**
 * A task for a worker, of a row with its plan (`plan`), its payload (`given`), the `headers`,
 * `url`, `remote`, `via` and `detail` of its delivery.
 */
export function toClaimed(row: Row, steps: readonly Row[]): ClaimedTask {
  const plan = json(row, "plan") as StoredPlan;
  return {
    task: toTask(row, { plan, rows: steps }),
    plan: text(row, "plan"),
    payload: bytes(row, "given"),
    inputs: row["inputs"] === null ? {} : json(row, "inputs") as ClaimedTask["inputs"],
    headers: json(row, "headers") as Record<string, string>,
    request: row["via"] === "http"
      ? { url: text(row, "url"), method: "POST", remote: text(row, "remote") }
      : { url: "", method: "", remote: "" },
    coverage: coverageOf(row),
    hasMessages: number(row, "messages") > 0,
    readUpTo: number(row, "read_up_to"),
    ...(row["trace"] === null ? {} : { trace: text(row, "trace") }),
  };
}

/**
 * The parts of an event that its signature covers, from the detail of its delivery; all parts of an
 * event that has no request.
 */
function coverageOf(row: Row): Coverage {
  if (row["via"] === "internal") return COVERS_EVERYTHING;
  if (row["via"] === "chat") return COVERS_BODY;
  if (row["detail"] === null) return COVERS_NOTHING;
  return (json(row, "detail") as DeliveryDetail).signed ?? COVERS_NOTHING;
}

/** The plan of a task as JSON; `undefined` when something it needs was missing. */
export async function findPlan(db: SqlSession, taskId: string): Promise<string | undefined> {
  const row = await db.get(
    "SELECT plan FROM plans WHERE hash = (SELECT plan_hash FROM tasks WHERE id = ?)",
    taskId,
  );
  return row && text(row, "plan");
}

/** A removed task, with its own directory if it has one. */
export function toRemovedTask(row: Row): TaskFiles {
  return {
    id: text(row, "id"),
    directory: row["directory"] === null ? "" : text(row, "directory"),
  };
}
