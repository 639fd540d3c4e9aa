/**
 * The deletion of records and bodies in PostgreSQL. What a task left on the disk of another node is
 * noted for that one.
 *
 * @module
 */

import type { Deletion } from "../deletion_store.ts";
import type { BodyResult } from "../retention_store.ts";
import { deleteBodies as deleteUnneeded } from "../sql/delete_bodies.ts";
import {
  type DeletedParts,
  deletePartsOfDelivery,
  deletePartsOfTask,
} from "../sql/delete_records.ts";
import type { Session } from "./database/connections.ts";
import { toRemovedTask } from "../sql/tasks.ts";
import { removePlans, removeTasks } from "./tasks/prune_rows.ts";

/**
 * The lock under which a transaction hands the content that several deliveries share from one to the
 * next: two at once would bring it back.
 */
const HANDING_ON = "retention/bodies";

/** Deletes a task and what belongs to it. */
export async function deleteTask(
  db: Session,
  id: string,
  options: { readonly dryRun: boolean },
): Promise<Deletion> {
  await db.lock(HANDING_ON);
  return await removeRows(db, await deletePartsOfTask(db, id, options), options);
}

/** Deletes a delivery and what belongs to it. */
export async function deleteDelivery(
  db: Session,
  id: string,
  options: { readonly cascade: boolean; readonly dryRun: boolean },
): Promise<Deletion> {
  await db.lock(HANDING_ON);
  return await removeRows(db, await deletePartsOfDelivery(db, id, options), options);
}

/** Deletes bodies of deliveries that stay. One daemon does it at a time. */
export async function deleteBodies(
  db: Session,
  options: { readonly ids: readonly string[]; readonly before: number; readonly now: number },
): Promise<BodyResult> {
  if (!await db.tryLock(HANDING_ON)) return { deleted: 0, needed: options.ids };
  return await deleteUnneeded(db, options);
}

/** Removes the tasks, unless it is a dry run. */
async function removeRows(
  db: Session,
  { deleted, keptBy, tasks }: DeletedParts,
  { dryRun }: { readonly dryRun: boolean },
): Promise<Deletion> {
  if (dryRun) return { deleted, keptBy, tasks: [] };
  const rows = await removeTasks(db, tasks);
  await removePlans(db, rows);
  return { deleted, keptBy, tasks: rows.map(toRemovedTask) };
}
