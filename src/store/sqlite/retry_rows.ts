/**
 * `svc task retry`: a new task that does again what an ended one did. It waits for room like any other
 * of its group and workspace, and is never turned away.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import type { RetryOf, Task } from "../task_records.ts";
import { bindRetry } from "./chat/binding_rows.ts";
import { text } from "./engine/columns.ts";
import type { Database, Row } from "./engine/database.ts";
import { countUse, usePlan } from "./tasks/plan_rows.ts";
import { readTasks, saveStep } from "./tasks/task_rows.ts";
import {
  type Place,
  PLACE_COLUMNS,
  promoteWaiting,
  stageFor,
  toPlace,
} from "./tasks/task_stages.ts";

/**
 * Stores the new task.
 *
 * @throws {AppError} `not_found` when the old one is gone, `conflict` when it has not ended or cannot
 * be run.
 */
export function retryTask(db: Database, retry: RetryOf): Task {
  const row = db.get(
    `SELECT state, plan_hash, directory, ${PLACE_COLUMNS} FROM tasks WHERE id = ?`,
    retry.of,
  );
  if (row === undefined) throw new AppError("not_found", `There is no task ${retry.of}`);
  const state = text(row, "state");
  if (state === "pending" || state === "running") {
    throw new AppError("conflict", `Task ${retry.of} has not ended: cancel it, or wait for it`);
  }
  if (retry.keepDirectory && row["directory"] === null) {
    throw new AppError("conflict", `Another retry of task ${retry.of} goes on in its directory`);
  }
  const planHash = planOf(db, row, retry);
  const place = placeOf(row, retry);
  insert(db, retry, { planHash, place, held: stageFor(db, place) });
  bindRetry(db, retry);
  if (retry.keepDirectory) db.run("UPDATE tasks SET directory = NULL WHERE id = ?", retry.of);
  for (const step of retry.kept) saveStep(db, retry.id, step);
  promoteWaiting(db, place);
  const [task] = readTasks(db, "WHERE id = ?", [retry.id]);
  if (task === undefined) throw new Error(`Task ${retry.id} was not stored`);
  return task;
}

/** The hash of the plan, counted as used. */
function planOf(db: Database, row: Row, { of, planned }: RetryOf): string {
  if (planned !== undefined) {
    usePlan(db, planned.plan);
    return planned.plan.hash;
  }
  if (row["plan_hash"] === null) {
    throw new AppError("conflict", `Task ${of} never could run: apply what it misses first`);
  }
  const hash = text(row, "plan_hash");
  countUse(db, hash);
  return hash;
}

/** The room it needs: that of the old task, and of the workspace it is to run in. */
function placeOf(row: Row, { planned }: RetryOf): Place {
  const old = toPlace(row);
  if (planned === undefined) return old;
  const { gate, gateMax, project } = old;
  const { workspace, workspaceMax } = planned;
  return {
    ...(gate === undefined ? {} : { gate }),
    ...(gateMax === undefined ? {} : { gateMax }),
    project,
    workspace,
    ...(workspaceMax === undefined ? {} : { workspaceMax }),
  };
}

function insert(
  db: Database,
  retry: RetryOf,
  { planHash, place, held }: { planHash: string; place: Place; held: number },
): void {
  db.run(
    `INSERT INTO tasks (id, project, "trigger", workflow, workspace, state, reason, delivery_id,
       plan_hash, payload, created_at, parent_id, retry_of, depth, directory, held, gate, gate_max,
       workspace_max)
     SELECT ?1, project, "trigger", COALESCE(?2, workflow), ?3, 'pending', '', delivery_id, ?4,
       payload, ?5, parent_id, id, depth, CASE WHEN ?6 = 1 THEN directory END, ?7, gate, gate_max, ?8
     FROM tasks WHERE id = ?9`,
    retry.id,
    retry.planned?.workflow ?? null,
    place.workspace,
    planHash,
    retry.now,
    retry.keepDirectory ? 1 : 0,
    held,
    place.workspaceMax ?? null,
    retry.of,
  );
}
