/**
 * The deletion of single records in SQLite. What was deleted is zeroed in the file
 * (`secure_delete`); the log, in which older pages are left, is emptied as soon as it is committed.
 *
 * @module
 */

import type { Deletion } from "../deletion_store.ts";
import {
  type DeletedParts,
  deletePartsOfDelivery,
  deletePartsOfTask,
} from "../sql/delete_records.ts";
import type { Database } from "./engine/database.ts";
import { toRemovedTask } from "../sql/tasks.ts";
import { removeTasks } from "./tasks/prune_rows.ts";

/** Deletes a task and what belongs to it. */
export async function deleteTask(
  db: Database,
  id: string,
  options: { readonly dryRun: boolean },
): Promise<Deletion> {
  return removeRows(db, await deletePartsOfTask(db, id, options), options);
}

/** Deletes a delivery and what belongs to it. */
export async function deleteDelivery(
  db: Database,
  id: string,
  options: { readonly cascade: boolean; readonly dryRun: boolean },
): Promise<Deletion> {
  return removeRows(db, await deletePartsOfDelivery(db, id, options), options);
}

/** Removes the tasks, unless it is a dry run. */
function removeRows(
  db: Database,
  { deleted, keptBy, tasks }: DeletedParts,
  { dryRun }: { readonly dryRun: boolean },
): Deletion {
  if (dryRun) return { deleted, keptBy, tasks: [] };
  const rows = db.all(
    "SELECT id, directory, plan_hash FROM tasks WHERE id IN (SELECT value FROM json_each(?))",
    JSON.stringify(tasks),
  );
  removeTasks(db, rows);
  db.emptyLogSoon();
  return { deleted, keptBy, tasks: rows.map(toRemovedTask) };
}
