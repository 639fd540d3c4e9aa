/**
 * Tasks that later events of their debounce key join, in the table `tasks`.
 *
 * @module
 */

import type { Delivery } from "../../delivery_records.ts";
import type { NewTask } from "../../task_records.ts";
import type { DebouncedTask } from "../../rules/event_outcome.ts";
import { debounceDigest } from "../../rules/keys.ts";
import type { TaskLimits } from "../../rules/limits.ts";
import type { Found } from "../../rules/needs.ts";
import { DEBOUNCED_TASK_COLUMNS, toDebouncedTask } from "../../sql/task_facts.ts";
import { READINESS } from "../../sql/readiness.ts";
import type { Database } from "../engine/database.ts";
import { releasePlan, usePlan } from "./plan_rows.ts";

/** The pending task with the same debounce key that has never started. */
export function findDebounced(db: Database, task: NewTask): Found<DebouncedTask> {
  const row = db.get(
    `SELECT ${DEBOUNCED_TASK_COLUMNS} FROM tasks WHERE debounce = ?
       AND state = 'pending' AND started_at IS NULL`,
    debounceDigest(task) ?? null,
  );
  return row === undefined ? "none" : toDebouncedTask(row);
}

/** Gives a pending task the payload, the plan and what else a newer event brings. */
export function joinTask(
  db: Database,
  task: NewTask,
  { joined, delivery }: {
    readonly joined: DebouncedTask;
    readonly delivery: Pick<Delivery, "id">;
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
}

/** Gives a task other limits and makes it wait for its time, so that it occupies no room. */
export function leaveRoom(db: Database, taskId: string, { group, workspace }: TaskLimits): void {
  db.run(
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
