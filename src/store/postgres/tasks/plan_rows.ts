/**
 * The table `plans`, one row for all tasks with the same plan.
 *
 * @module
 */

import { text } from "../../sql/columns.ts";
import type { Session } from "../database/connections.ts";

/** The plan of a task as JSON; `undefined` when something it needs was missing. */
export async function findPlan(db: Session, taskId: string): Promise<string | undefined> {
  const row = await db.get(
    "SELECT plan FROM plans WHERE hash = (SELECT plan_hash FROM tasks WHERE id = ?)",
    taskId,
  );
  return row === undefined ? undefined : text(row, "plan");
}
