/**
 * Debouncing (contract 2): an event whose key has a task that waits does not start another one, that
 * task gets its payload. The time it starts at stays that of the first event.
 *
 * @module
 */

import { equalBytes } from "../../../base/bytes.ts";
import type { Delivery } from "../../delivery_records.ts";
import type { NewTask } from "../../task_records.ts";
import { number, text } from "../engine/columns.ts";
import type { Database } from "../engine/database.ts";
import { digestOf } from "../engine/digest.ts";
import { releasePlan, usePlan } from "../tasks/plan_rows.ts";
import {
  type Place,
  PLACE_COLUMNS,
  promoteWaiting,
  stageFor,
  STAGES,
  toPlace,
} from "../tasks/task_stages.ts";

/** The task an event was joined to, if one of its key waits; never one that has started before. */
export function joinDebounced(
  db: Database,
  task: NewTask,
  { delivery, place }: { readonly delivery: Pick<Delivery, "id">; readonly place: Place },
): string | undefined {
  const { debounce, plan } = task;
  if (debounce === undefined || plan === undefined) return undefined;
  const row = db.get(
    `SELECT id, held, plan_hash, ${PLACE_COLUMNS} FROM tasks WHERE debounce = ?
       AND state = 'pending' AND started_at IS NULL`,
    digestOf(task.project, task.trigger, debounce.key),
  );
  if (row === undefined) return undefined;
  const id = text(row, "id");
  usePlan(db, plan);
  releasePlan(db, text(row, "plan_hash"));
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
    id,
  );
  moveTask(db, id, { held: number(row, "held"), from: toPlace(row), to: place });
  return id;
}

/** The newest payload may belong to another group or workspace: the task then waits for room there. */
function moveTask(
  db: Database,
  id: string,
  { held, from, to }: { held: number; from: Place; to: Place },
): void {
  if (isSame(from, to)) return;
  db.run(
    `UPDATE tasks SET workspace = ?, workspace_max = ?, gate = ?, gate_max = ?, held = ?
     WHERE id = ?`,
    to.workspace,
    to.workspaceMax ?? null,
    to.gate ?? null,
    to.gateMax ?? null,
    STAGES.time, // where it takes no room
    id,
  );
  if (held === STAGES.time) return;
  promoteWaiting(db, from);
  db.run("UPDATE tasks SET held = ? WHERE id = ?", stageFor(db, to), id);
  promoteWaiting(db, to);
}

function isSame(a: Place, b: Place): boolean {
  const none = new Uint8Array();
  return a.workspace === b.workspace && a.workspaceMax === b.workspaceMax &&
    a.gateMax === b.gateMax && equalBytes(a.gate ?? none, b.gate ?? none);
}
