/**
 * Tasks that retry others, in the tables `tasks` and `steps`.
 *
 * @module
 */

import { READINESS } from "../../sql/readiness.ts";
import type { RetryOf } from "../../task_records.ts";
import type { PlannedRetry } from "../../transactions/task_rows.ts";
import type { Database } from "../engine/database.ts";
import { countUse, usePlan } from "./plan_rows.ts";
import { saveStep } from "./task_rows.ts";

/** Stores a task that retries another, with its steps that are kept, and its directory. */
export function insertRetry(
  db: Database,
  retry: RetryOf,
  { planHash, limits: { workspace }, readiness }: PlannedRetry,
): void {
  if (retry.planned === undefined) countUse(db, planHash);
  else usePlan(db, retry.planned.plan);
  db.run(
    `INSERT INTO tasks (id, project, "trigger", workflow, workspace, state, reason, delivery_id,
       plan_hash, payload, created_at, parent_id, retry_of, depth, directory, readiness, gate, gate_max,
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
    READINESS[readiness],
    workspace.max ?? null,
    retry.of,
  );
  if (retry.keepDirectory) db.run("UPDATE tasks SET directory = NULL WHERE id = ?", retry.of);
  for (const step of retry.kept) saveStep(db, retry.id, step);
}
