/**
 * Rows of tasks in SQLite, as the transactions read and change them. No query grows with the number
 * of queued tasks. When a task is ready is decided in `store/rules/readiness.ts`.
 *
 * @module
 */

import type { Delivery } from "../../delivery_records.ts";
import type { DebouncedTask, ReplaceableTask } from "../../rules/event_outcome.ts";
import { debounceDigest } from "../../rules/keys.ts";
import type { GroupLimit, TaskLimits } from "../../rules/limits.ts";
import type { Found } from "../../rules/needs.ts";
import type { ParkDecision } from "../../rules/parking.ts";
import { placeOf } from "../../../resources/priority.ts";
import type { Readiness } from "../../rules/readiness.ts";
import { textOfConversation } from "../../sql/conversations.ts";
import { number, storable, text } from "../../sql/columns.ts";
import { LIMIT_COLUMNS, toLimits } from "../../sql/limits.ts";
import { IN_WORKSPACE, READINESS, UNFINISHED } from "../../sql/readiness.ts";
import type { SqlValue } from "../../sql/row.ts";
import {
  DEBOUNCED_TASK_COLUMNS,
  STORED_TASK_COLUMNS,
  toDebouncedTask,
  toStoredTask,
  toUnreadyTask,
  UNREADY_TASK_COLUMNS,
} from "../../sql/task_facts.ts";
import { type LimitUse, MOST_COUNTED } from "../../sql/task_readiness.ts";
import type { NewTask, RetryOf, StepRecord, TaskEnd } from "../../task_records.ts";
import type {
  EndedTask,
  LimitKey,
  PlannedRetry,
  Scheduling,
  StoredTask,
  TaskRows,
  UnreadyTask,
} from "../../transactions/task_rows.ts";
import type { Parking } from "../../turn_records.ts";
import type { Database } from "../engine/database.ts";
import { countUse, releasePlan, usePlan } from "./plan_rows.ts";

/** The rows of tasks of one database. */
export class SqliteTaskRows implements TaskRows {
  protected readonly db: Database;

  /** Over an open connection that writes. */
  constructor(db: Database) {
    this.db = db;
  }

  findTask(id: string): Found<StoredTask> {
    const row = this.db.get(`SELECT ${STORED_TASK_COLUMNS} FROM tasks WHERE id = ?`, id);
    return row === undefined ? "none" : toStoredTask(row);
  }

  findDebounced(task: NewTask): Found<DebouncedTask> {
    const row = this.db.get(
      `SELECT ${DEBOUNCED_TASK_COLUMNS} FROM tasks WHERE debounce = ?
         AND state = 'pending' AND started_at IS NULL`,
      debounceDigest(task) ?? null,
    );
    return row === undefined ? "none" : toDebouncedTask(row);
  }

  findUnfinished({ digest, max }: GroupLimit): string[] {
    const rows = this.db.all(`SELECT id FROM ${IN_GROUP} LIMIT ?`, digest, max);
    return rows.map((row) => text(row, "id"));
  }

  findReplaceable({ digest }: GroupLimit): ReplaceableTask[] {
    return this.db.all(
      `SELECT id, started_at IS NOT NULL AS has_started FROM ${IN_GROUP} AND cancel_reason IS NULL`,
      digest,
    ).map((row) => ({ id: text(row, "id"), hasStarted: row["has_started"] === 1 }));
  }

  findNewestMax(limit: LimitKey): Found<number> {
    const { tasks, queued, max } = SQL[limit.of];
    const newest = this.db.get(
      `SELECT ${max} AS max FROM ${tasks} AND ${queued} ORDER BY id DESC LIMIT 1`,
      ...valuesOf(limit),
    );
    return newest === undefined ? "none" : number(newest, "max");
  }

  countOpen(limit: LimitKey, upTo: number): number {
    const { tasks, open } = SQL[limit.of];
    const counted = `SELECT 1 FROM ${tasks} AND ${open} LIMIT ?`;
    const row = this.db.get(`SELECT count(*) AS n FROM (${counted})`, ...valuesOf(limit), upTo);
    return number(row ?? {}, "n");
  }

  findOldestQueued(limit: LimitKey): Found<UnreadyTask> {
    const { tasks, queued } = SQL[limit.of];
    const oldest = this.db.get(
      `SELECT ${UNREADY_TASK_COLUMNS} FROM ${tasks} AND ${queued} ORDER BY id LIMIT 1`,
      ...valuesOf(limit),
    );
    return oldest === undefined ? "none" : toUnreadyTask(oldest);
  }

  /** How full a limit is in which tasks are queued, for lists of tasks. */
  findLimitUse(limit: LimitKey): LimitUse {
    const { tasks, open } = SQL[limit.of];
    const max = this.findNewestMax(limit);
    const first = this.db.get(
      `SELECT id FROM ${tasks} AND ${open} ORDER BY readiness, id LIMIT 1`,
      ...valuesOf(limit),
    );
    return {
      max: max === "none" ? 0 : max,
      open: this.countOpen(limit, MOST_COUNTED),
      ...(first === undefined ? {} : { first: text(first, "id") }),
    };
  }

  insertTask(
    task: NewTask,
    delivery: Pick<Delivery, "id" | "receivedAt">,
    { limits: { group, workspace }, readiness, runAt, debounce }: Scheduling,
  ): void {
    const { plan } = task;
    if (plan !== undefined) usePlan(this.db, plan);
    this.db.run(
      `INSERT INTO tasks (id, project, "trigger", workflow, workspace, state, reason, delivery_id,
         plan_hash, payload, created_at, finished_at, parent_id, depth, readiness, run_at, gate,
         gate_max, workspace_max, debounce, trace, priority, conversation, pending_since)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?11)`,
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
      READINESS[readiness],
      runAt ?? null,
      group?.digest ?? null,
      group?.max ?? null,
      workspace.max ?? null,
      debounce ?? null,
      task.trace ?? null,
      placeOf(task),
      task.conversation === undefined ? null : storable(textOfConversation(task.conversation)),
    );
  }

  insertRetry(
    retry: RetryOf,
    { planHash, limits: { workspace }, readiness }: PlannedRetry,
  ): void {
    if (retry.planned === undefined) countUse(this.db, planHash);
    else usePlan(this.db, retry.planned.plan);
    this.db.run(
      `INSERT INTO tasks (id, project, "trigger", workflow, workspace, state, reason, delivery_id,
         plan_hash, payload, created_at, parent_id, retry_of, depth, directory, readiness, gate,
         gate_max, workspace_max, priority, conversation, retried_by, root_id, pending_since)
       SELECT ?1, project, "trigger", COALESCE(?2, workflow), ?3, 'pending', '', delivery_id, ?4,
         payload, ?5, parent_id, id, depth, CASE WHEN ?6 = 1 THEN directory END, ?7, gate, gate_max,
         ?8, priority, conversation, ?10, root_id, ?5
       FROM tasks WHERE id = ?9`,
      retry.id,
      retry.planned?.workflow ?? null,
      workspace.name,
      planHash,
      retry.now,
      retry.keepDirectory ? 1 : 0,
      READINESS[readiness],
      workspace.max ?? null,
      retry.of,
      JSON.stringify(retry.by),
    );
    if (retry.keepDirectory) this.setDirectory(retry.of, "");
    for (const step of retry.kept) this.saveStep(retry.id, step);
  }

  joinTask(task: NewTask, joined: DebouncedTask, delivery: Pick<Delivery, "id">): void {
    const { plan } = task;
    if (plan === undefined) throw new Error("A task that misses something joins none");
    usePlan(this.db, plan);
    releasePlan(this.db, joined.planHash);
    this.db.run(
      `UPDATE tasks SET workflow = ?, delivery_id = ?, plan_hash = ?, payload = ?, parent_id = ?,
         depth = ?, trace = ?, priority = ? WHERE id = ?`,
      task.workflow,
      delivery.id,
      plan.hash,
      task.payload ?? null,
      task.parentId ?? null,
      task.depth ?? 0,
      task.trace ?? null,
      placeOf(task),
      joined.id,
    );
  }

  leaveRoom(taskId: string, { group, workspace }: TaskLimits): void {
    this.db.run(
      `UPDATE tasks SET workspace = ?, workspace_max = ?, gate = ?, gate_max = ?, readiness = ?
       WHERE id = ?`,
      workspace.name,
      workspace.max ?? null,
      group?.digest ?? null,
      group?.max ?? null,
      READINESS.delayed,
      taskId,
    );
  }

  setReadiness(taskId: string, readiness: Readiness): void {
    this.db.run("UPDATE tasks SET readiness = ? WHERE id = ?", READINESS[readiness], taskId);
  }

  park(taskId: string, parking: Parking, decision: ParkDecision): void {
    const { steps, until, now, activeMs = 0 } = parking;
    for (const step of steps) this.saveStep(taskId, step);
    this.db.run(
      `UPDATE tasks SET state = ?, readiness = ?, run_at = ?, waiting_since = ?4, pending_since = ?4,
         active_ms = active_ms + ?5, claimed_at = NULL WHERE id = ?6`,
      decision === "ready" ? "pending" : "waiting",
      READINESS[decision === "waits outside" ? "queuedInWorkspace" : "ready"],
      until ?? null,
      now,
      activeMs,
      taskId,
    );
  }

  wake(taskId: string, readiness: Readiness, now: number): void {
    this.db.run(
      `UPDATE tasks SET state = 'pending', readiness = ?, pending_since = ?
       WHERE id = ? AND state = 'waiting'`,
      READINESS[readiness],
      now,
      taskId,
    );
  }

  closeWaits(taskId: string, now: number): void {
    this.db.run(
      `UPDATE waits SET state = 'over', result = '{"by":"task"}', over_at = ?
       WHERE task_id = ? AND state = 'open'`,
      now,
      taskId,
    );
  }

  requestCancel(taskId: string, reason: string): void {
    this.db.run(
      "UPDATE tasks SET cancel_reason = COALESCE(cancel_reason, ?) WHERE id = ?",
      storable(reason),
      taskId,
    );
  }

  endTask(end: TaskEnd, from: "pending" | "running"): Found<EndedTask> {
    const { taskId, state, reason, now } = end;
    for (const step of end.steps ?? []) this.saveStep(taskId, step);
    const row = this.db.returning(
      `UPDATE tasks SET state = ?1, finished_at = ?2,
         reason = CASE WHEN ?1 = 'cancelled' THEN COALESCE(cancel_reason, ?3) ELSE ?3 END
       WHERE id = ?4 AND state = ?5 RETURNING ${LIMIT_COLUMNS}, messages > read_up_to AS has_unread`,
      state,
      now,
      storable(reason),
      taskId,
      from,
    );
    if (row === undefined) return "none";
    if (state !== "succeeded") { // a crash or a bug may have cut off steps
      this.db.run(
        `UPDATE steps SET state = ?, reason = ?, finished_at = ?, process_group = NULL
         WHERE task_id = ? AND state IN ('running', 'waiting')`,
        state,
        storable(reason),
        now,
        taskId,
      );
    }
    return { limits: toLimits(row), hasUnread: row["has_unread"] === 1 };
  }

  noteTaskEnd(taskId: string): void {
    this.db.run("INSERT OR IGNORE INTO task_ends VALUES (?)", taskId);
  }

  /** Stores the state of a step. */
  saveStep(taskId: string, step: StepRecord): void {
    this.db.run(
      `INSERT OR REPLACE INTO steps (task_id, position, id, state, exit_code, reason, started_at,
         finished_at, process_group, attempt, round, outputs, failure, network, session,
         read_from)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
      step.round ?? 1,
      step.outputs === undefined ? null : JSON.stringify(step.outputs),
      step.failure ?? null,
      step.network === undefined ? null : JSON.stringify(step.network),
      step.session ?? null,
      step.readFrom ?? null,
    );
    const { readUpTo, unreadFrom } = step;
    if ((readUpTo ?? unreadFrom) === undefined) return;
    this.db.run(
      "UPDATE tasks SET read_up_to = min(max(read_up_to, ?), ?) WHERE id = ?",
      readUpTo ?? 0,
      unreadFrom ?? Number.MAX_SAFE_INTEGER,
      taskId,
    );
  }

  /** Stores the task's own directory; empty when it has none any more. */
  setDirectory(taskId: string, directory: string): void {
    this.db.run("UPDATE tasks SET directory = NULLIF(?, '') WHERE id = ?", directory, taskId);
  }
}

/** Unfinished tasks of a group (column `gate`). */
const IN_GROUP = `tasks INDEXED BY tasks_gated WHERE gate = ? AND ${UNFINISHED}`;

/**
 * Which tasks count against a limit, by an index whose next columns are the readiness and the id.
 */
interface LimitSql {
  /** The unfinished tasks. */
  readonly tasks: string;
  /** Of these, those that are queued for room here. */
  readonly queued: string;
  /** Of these, those that occupy room here. */
  readonly open: string;
  /** Column of the limit. */
  readonly max: "gate_max" | "workspace_max";
}

const SQL: Readonly<Record<LimitKey["of"], LimitSql>> = {
  group: {
    tasks: IN_GROUP,
    queued: `readiness = ${READINESS.queuedInGroup}`,
    open: `readiness < ${READINESS.queuedInGroup}`,
    max: "gate_max",
  },
  // tasks of a workspace (project, workspace) that have a limit there
  workspace: {
    tasks: `tasks INDEXED BY tasks_in_workspace
      WHERE project = ? AND workspace = ? AND workspace_max IS NOT NULL AND ${IN_WORKSPACE}`,
    queued: `readiness = ${READINESS.queuedInWorkspace}`,
    open: `readiness < ${READINESS.queuedInWorkspace}`,
    max: "workspace_max",
  },
};

/** The values that `tasks` takes. */
function valuesOf(limit: LimitKey): SqlValue[] {
  return limit.of === "group" ? [limit.digest] : [limit.project, limit.name];
}
