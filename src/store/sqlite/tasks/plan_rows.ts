/**
 * The tables `plans`, one row for all tasks with the same plan, and `plan_uses`, which counts those
 * tasks: a plan is removed with the last of them.
 *
 * @module
 */

import type { Database, SharedValue } from "../engine/database.ts";

/** Stores a plan if it is new, and counts one more task with it. */
export function usePlan(
  db: Database,
  plan: { readonly hash: string; readonly json: string },
): void {
  if (countUse(db, plan.hash)) return;
  db.run("INSERT OR IGNORE INTO plans VALUES (?, ?)", plan.hash, plan.json);
  db.run("INSERT INTO plan_uses VALUES (?, 1)", plan.hash);
}

/** Uses of stored plans that are counted when the transaction ends: once for a plan, not a task. */
const USES: SharedValue<Map<string, number>> = {
  make: () => new Map(),
  finish: (db, uses) => {
    for (const [hash, tasks] of uses) if (tasks > 0) addUses(db, hash, tasks);
  },
};

/** Counts one more task with a plan; `false`, without counting, when the plan is not stored. */
export function countUse(db: Database, hash: string): boolean {
  const uses = db.shared(USES);
  const known = uses?.get(hash);
  if (known !== undefined) uses?.set(hash, known + 1);
  else if (!addUses(db, hash, 1)) return false;
  else uses?.set(hash, 0);
  return true;
}

function addUses(db: Database, hash: string, tasks: number): boolean {
  return db.run("UPDATE plan_uses SET tasks = tasks + ? WHERE hash = ?", tasks, hash) > 0;
}

/** Counts one task less with this plan, and removes the plan with the last one. */
export function releasePlan(db: Database, hash: string): void {
  const uses = db.shared(USES);
  addUses(db, hash, (uses?.get(hash) ?? 0) - 1);
  uses?.delete(hash); // it may be gone now
  if (db.run("DELETE FROM plan_uses WHERE hash = ? AND tasks <= 0", hash) === 0) return;
  db.run("DELETE FROM plans WHERE hash = ?", hash);
}
