/**
 * The table `rates`: the state of the rate limit of each trigger that has one.
 *
 * @module
 */

import type { Found } from "../../rules/needs.ts";
import type { RateState } from "../../rules/rate_limit.ts";
import { number } from "../../sql/columns.ts";
import type { TriggerKey } from "../../transactions/task_rows.ts";
import type { Database } from "../engine/database.ts";

/** State of the rate of a trigger; none before its first task. */
export function findRate(db: Database, { project, trigger }: TriggerKey): Found<RateState> {
  const row = db.get(
    'SELECT due_at, seen_at FROM rates WHERE project = ? AND "trigger" = ?',
    project,
    trigger,
  );
  if (row === undefined) return "none";
  return { dueAt: number(row, "due_at"), seenAt: number(row, "seen_at") };
}

/** Stores the state of the rate of a trigger. */
export function keepRate(db: Database, { project, trigger }: TriggerKey, rate: RateState): void {
  db.run(
    `INSERT INTO rates VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT DO UPDATE SET due_at = ?3, seen_at = ?4`,
    project,
    trigger,
    rate.dueAt,
    rate.seenAt,
  );
}
