/**
 * The tables `plans`, one row for all tasks with the same plan, and `plan_uses`, which counts those
 * tasks: a plan is removed with the last of them.
 *
 * @module
 */

import { text } from "../engine/columns.ts";
import type { Database } from "../engine/database.ts";

/** The plan of a task as JSON; `undefined` when something it needs was missing. */
export function findPlan(db: Database, taskId: string): string | undefined {
  const row = db.get(
    "SELECT plan FROM plans WHERE hash = (SELECT plan_hash FROM tasks WHERE id = ?)",
    taskId,
  );
  return row === undefined ? undefined : text(row, "plan");
}

/** Stores a plan if it is new, and counts one more task with it. */
export function usePlan(
  db: Database,
  plan: { readonly hash: string; readonly json: string },
): void {
  if (countUse(db, plan.hash)) return;
  db.run("INSERT OR IGNORE INTO plans VALUES (?, ?)", plan.hash, plan.json);
  db.run("INSERT INTO plan_uses VALUES (?, 1)", plan.hash);
}

/** Counts one more task with a plan; `false`, without counting, when the plan is not stored. */
export function countUse(db: Database, hash: string): boolean {
  return db.run("UPDATE plan_uses SET tasks = tasks + 1 WHERE hash = ?", hash) > 0;
}

/** Counts one task less with this plan, and removes the plan with the last one. */
export function releasePlan(db: Database, hash: string): void {
  db.run("UPDATE plan_uses SET tasks = tasks - 1 WHERE hash = ?", hash);
  if (db.run("DELETE FROM plan_uses WHERE hash = ? AND tasks <= 0", hash) === 0) return;
  db.run("DELETE FROM plans WHERE hash = ?", hash);
}
