/**
 * The tables `plans`, one row for all tasks that run the same, and `plan_uses`, which counts them:
 * a plan that no task has any more goes with the last of them.
 *
 * @module
 */

import { text } from "../engine/columns.ts";
import type { Database } from "../engine/database.ts";

/** What a task runs, as it was stored; `undefined` when something was missing for it. */
export function findPlan(db: Database, taskId: string): string | undefined {
  const row = db.get(
    "SELECT plan FROM plans WHERE hash = (SELECT plan_hash FROM tasks WHERE id = ?)",
    taskId,
  );
  return row === undefined ? undefined : text(row, "plan");
}

/** One more task has this plan. */
export function usePlan(
  db: Database,
  plan: { readonly hash: string; readonly json: string },
): void {
  if (countUse(db, plan.hash)) return;
  db.run("INSERT OR IGNORE INTO plans VALUES (?, ?)", plan.hash, plan.json);
  db.run("INSERT INTO plan_uses VALUES (?, 1)", plan.hash);
}

/** One more task has a plan; `false` when it is not stored, then nothing is counted. */
export function countUse(db: Database, hash: string): boolean {
  return db.run("UPDATE plan_uses SET tasks = tasks + 1 WHERE hash = ?", hash) > 0;
}

/** One task less has this plan. */
export function releasePlan(db: Database, hash: string): void {
  db.run("UPDATE plan_uses SET tasks = tasks - 1 WHERE hash = ?", hash);
  if (db.run("DELETE FROM plan_uses WHERE hash = ? AND tasks <= 0", hash) === 0) return;
  db.run("DELETE FROM plans WHERE hash = ?", hash);
}
