/**
 * `svc task retry` in the store: a new task that repeats an ended one. `store/rules/retry.ts`
 * decides whether it may, and which limits it has.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import type { RetryOf, Task, TaskState } from "../task_records.ts";
import { decideRetry, type RetriedTask, type RetryDecision } from "../rules/retry.ts";
import type { Found } from "../rules/needs.ts";
import type { WaitReason } from "../rules/waiting.ts";
import { bindRetry } from "./chat/binding_rows.ts";
import { text } from "../sql/columns.ts";
import type { Database } from "./engine/database.ts";
import { WAIT_REASON } from "../sql/wait_reasons.ts";
import { countUse, usePlan } from "./tasks/plan_rows.ts";
import { readTasks, saveStep } from "./tasks/task_rows.ts";
import { findWait, LIMIT_COLUMNS, promoteWaiting, toLimits } from "./tasks/waiting_rows.ts";

/**
 * Stores the new task.
 *
 * @throws {AppError} `not_found` when the old one is gone, `conflict` when it has not ended or
 * cannot be run.
 */
export function retryTask(db: Database, retry: RetryOf): Task {
  const decision = decideRetry(retry, findRetried(db, retry.of));
  if ("refused" in decision) throw new AppError(decision.refused, decision.message);
  const { limits } = decision;
  const { waitsFor, bringsNewLimit } = findWait(db, limits);
  insert(db, retry, { decision, waitsFor });
  bindRetry(db, retry);
  if (retry.keepDirectory) db.run("UPDATE tasks SET directory = NULL WHERE id = ?", retry.of);
  for (const step of retry.kept) saveStep(db, retry.id, step);
  if (bringsNewLimit) promoteWaiting(db, limits);
  const [task] = readTasks(db, "WHERE id = ?", [retry.id]);
  if (task === undefined) throw new Error(`Task ${retry.id} was not stored`);
  return task;
}

function findRetried(db: Database, id: string): Found<RetriedTask> {
  const row = db.get(
    `SELECT state, plan_hash, directory, ${LIMIT_COLUMNS} FROM tasks WHERE id = ?`,
    id,
  );
  if (row === undefined) return "none";
  return {
    state: text(row, "state") as TaskState,
    ...(row["plan_hash"] === null ? {} : { planHash: text(row, "plan_hash") }),
    hasDirectory: row["directory"] !== null,
    limits: toLimits(row),
  };
}

function insert(
  db: Database,
  retry: RetryOf,
  { decision: { planHash, limits: { workspace } }, waitsFor }: {
    decision: Exclude<RetryDecision, { readonly refused: string }>;
    waitsFor: WaitReason;
  },
): void {
  if (retry.planned === undefined) countUse(db, planHash);
  else usePlan(db, retry.planned.plan);
  db.run(
    `INSERT INTO tasks (id, project, "trigger", workflow, workspace, state, reason, delivery_id,
       plan_hash, payload, created_at, parent_id, retry_of, depth, directory, held, gate, gate_max,
       workspace_max)
     SELECT ?1, project, "trigger", COALESCE(?2, workflow), ?3, 'pending', '', delivery_id, ?4,
       payload, ?5, parent_id, id, depth, CASE WHEN ?6 = 1 THEN directory END, ?7, gate, gate_max, ?8
     FROM tasks WHERE id = ?9`,
    retry.id,
    retry.planned?.workflow ?? null,
    workspace.name,
    planHash,
    retry.now,
    retry.keepDirectory ? 1 : 0,
    WAIT_REASON[waitsFor],
    workspace.max ?? null,
    retry.of,
  );
}
