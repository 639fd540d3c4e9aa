/**
 * The deletion of records and bodies in PostgreSQL. What a task left on the disk of another node is
 * noted for that one.
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
import type { Row } from "../sql/row.ts";
import type { Session } from "./database/connections.ts";
import { removePlans, removeTasks, toRemoved } from "./tasks/prune_rows.ts";

/** One transaction at a time hands on what several deliveries share: two would bring it back. */
const HANDING_ON = "retention/bodies";

/** Deletes a task and what belongs to it. */
export function deleteTask(
  db: Session,
  id: string,
  options: { readonly dryRun: boolean },
): Promise<Deletion> {
  return carryOut(db, deleteTaskSteps(id, options), options);
}

/** Deletes a delivery and what belongs to it. */
export function deleteDelivery(
  db: Session,
  id: string,
  options: { readonly cascade: boolean; readonly dryRun: boolean },
): Promise<Deletion> {
  return carryOut(db, deleteDeliverySteps(id, options), options);
}

/** Deletes bodies of deliveries that stay. One daemon does it at a time. */
export async function deleteBodies(
  db: Session,
  options: { readonly ids: readonly string[]; readonly before: number; readonly now: number },
): Promise<BodyResult> {
  if (!await db.tryLock(HANDING_ON)) return { deleted: 0, needed: options.ids };
  return await runSteps(db, deleteBodiesSteps(options));
}

async function carryOut(
  db: Session,
  steps: DeletionSteps<Doomed>,
  { dryRun }: { readonly dryRun: boolean },
): Promise<Deletion> {
  await db.lock(HANDING_ON);
  const { deleted, keptBy, tasks } = await runSteps(db, steps);
  if (dryRun) return { deleted, keptBy, tasks: [] };
  const rows = await removeTasks(db, tasks);
  await removePlans(db, rows);
  return { deleted, keptBy, tasks: rows.map(toRemoved) };
}

/** Carries out the statements of a deletion in the open transaction. */
async function runSteps<Result>(
  db: Session,
  steps: DeletionSteps<Result>,
): Promise<Result> {
  let rows: readonly Row[] = [];
  for (;;) {
    const next = steps.next(rows);
    if (next.done === true) return next.value;
    const { sql, values, changes, locks = false } = next.value;
    if (changes) await db.run(sql, ...values);
    rows = changes ? [] : await db.all(locks ? `${sql} FOR UPDATE` : sql, ...values);
  }
}
