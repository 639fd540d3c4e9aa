/**
 * Tasks that later events of their debounce key join, in the table `tasks`.
 *
 * @module
 */

import type { Delivery } from "../../delivery_records.ts";
import type { NewTask } from "../../task_records.ts";
import type { DebouncedTask, Move } from "../../rules/event_outcome.ts";
import { debounceDigest } from "../../rules/keys.ts";
import { limitsOf, type TaskLimits } from "../../rules/limits.ts";
import type { Found } from "../../rules/needs.ts";
import { number, text } from "../../sql/columns.ts";
import type { Database } from "../engine/database.ts";
import { toWaitReason, WAIT_REASON } from "../../sql/wait_reasons.ts";
import { releasePlan, usePlan } from "../tasks/plan_rows.ts";
import {
  findWait,
  LIMIT_COLUMNS,
  promoteWaiting,
  setWait,
  toLimits,
} from "../tasks/waiting_rows.ts";

/** The waiting task with the same debounce key that has never started. */
export function findDebounced(db: Database, task: NewTask): Found<DebouncedTask> {
  const row = db.get(
    `SELECT id, held, plan_hash, ${LIMIT_COLUMNS} FROM tasks WHERE debounce = ?
       AND state = 'pending' AND started_at IS NULL`,
    debounceDigest(task) ?? null,
  );
  if (row === undefined) return "none";
  return {
    id: text(row, "id"),
    waitsFor: toWaitReason(number(row, "held")),
    limits: toLimits(row),
    planHash: text(row, "plan_hash"),
  };
}

/** Gives a waiting task the payload, plan and limits of a newer event. */
export function joinDebounced(
  db: Database,
  task: NewTask,
  { delivery, joined, move }: {
    readonly delivery: Pick<Delivery, "id">;
    readonly joined: DebouncedTask;
    readonly move: Move;
  },
): void {
  const { plan } = task;
  if (plan === undefined) throw new Error("A task that misses something joins none");
  usePlan(db, plan);
  releasePlan(db, joined.planHash);
  db.run(
    `UPDATE tasks SET workflow = ?, delivery_id = ?, plan_hash = ?, payload = ?, parent_id = ?,
       depth = ?, trace = ? WHERE id = ?`,
    task.workflow,
    delivery.id,
    plan.hash,
    task.payload ?? null,
    task.parentId ?? null,
    task.depth ?? 0,
    task.trace ?? null,
    joined.id,
  );
  if (move === "stay") return;
  const limits = limitsOf(task);
  leaveRoom(db, joined.id, limits);
  if (move === "later") return;
  promoteWaiting(db, joined.limits);
  setWait(db, joined.id, findWait(db, limits), limits);
}

/** Gives a task other limits and makes it wait for its time, so that it occupies no room. */
function leaveRoom(db: Database, taskId: string, { group, workspace }: TaskLimits): void {
  db.run(
    `UPDATE tasks SET workspace = ?, workspace_max = ?, gate = ?, gate_max = ?, held = ?
     WHERE id = ?`,
    workspace.name,
    workspace.max ?? null,
    group?.digest ?? null,
    group?.max ?? null,
    WAIT_REASON.time,
    taskId,
  );
}
