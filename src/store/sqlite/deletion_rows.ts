/**
 * The deletion of single records in SQLite. What was deleted is zeroed in the file
 * (`secure_delete`); the log, in which older pages are left, is emptied as soon as it is committed.
 *
 * @module
 */

import type { Deletion } from "../deletion_store.ts";
import type { BodyResult } from "../retention_store.ts";
import { deleteBodiesSteps } from "../sql/delete_bodies.ts";
import {
  deleteDeliverySteps,
  deleteTaskSteps,
  type DeletionSteps,
  type Doomed,
} from "../sql/delete_records.ts";
import type { Database } from "./engine/database.ts";
import { removeTasks, toRemoved } from "./tasks/prune_rows.ts";

/** Deletes a task and what belongs to it. */
export function deleteTask(
  db: Database,
  id: string,
  options: { readonly dryRun: boolean },
): Deletion {
  return carryOut(db, deleteTaskSteps(id, options), options);
}

/** Deletes a delivery and what belongs to it. */
export function deleteDelivery(
  db: Database,
  id: string,
  options: { readonly cascade: boolean; readonly dryRun: boolean },
): Deletion {
  return carryOut(db, deleteDeliverySteps(id, options), options);
}

/** Deletes bodies of deliveries that stay. */
export function deleteBodies(
  db: Database,
  options: { readonly ids: readonly string[]; readonly before: number; readonly now: number },
): BodyResult {
  return runSteps(db, deleteBodiesSteps(options));
}

function carryOut(
  db: Database,
  steps: DeletionSteps<Doomed>,
  { dryRun }: { readonly dryRun: boolean },
): Deletion {
  const { deleted, keptBy, tasks } = runSteps(db, steps);
  if (dryRun) return { deleted, keptBy, tasks: [] };
  const rows = db.all(
    "SELECT id, directory, plan_hash FROM tasks WHERE id IN (SELECT value FROM json_each(?))",
    JSON.stringify(tasks),
  );
  removeTasks(db, rows);
  db.emptyLogSoon();
  return { deleted, keptBy, tasks: rows.map(toRemoved) };
}

/** Carries out the statements of a deletion in the open transaction. */
function runSteps<Result>(db: Database, steps: DeletionSteps<Result>): Result {
  let next = steps.next();
  while (next.done !== true) {
    const { sql, values, changes } = next.value;
    next = steps.next(changes ? (db.run(sql, ...values), []) : db.all(sql, ...values));
  }
  return next.value;
}
