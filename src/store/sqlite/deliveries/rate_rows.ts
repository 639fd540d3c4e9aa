/**
 * The table `rates`: how many tasks of a trigger may start (contract 2, `rateLimit`), by the generic
 * cell rate algorithm: a minute's worth at once, and from then on one at a time.
 *
 * @module
 */

import { AppError } from "../../../base/errors.ts";
import type { NewTask } from "../../task_records.ts";
import { number } from "../engine/columns.ts";
import type { Database } from "../engine/database.ts";

const MINUTE_MS = 60_000;
/** A clock that goes back by more than requests overtake each other was set back. */
const CLOCK_STEP_MS = 10 * MINUTE_MS;

/**
 * When a new task of the trigger may start, at the earliest `now`; takes its turn.
 *
 * @throws {AppError} `rate_limited` when that is later and the trigger refuses what is beyond.
 */
export function reserveRateSlot(db: Database, task: NewTask, now: number): number {
  if (task.rateLimit === undefined) return now;
  const { perMinute, reject } = task.rateLimit;
  const interval = MINUTE_MS / perMinute;
  const row = db.get(
    'SELECT due_at, seen_at FROM rates WHERE project = ? AND "trigger" = ?',
    task.project,
    task.trigger,
  );
  const seen = row === undefined ? now : number(row, "seen_at");
  const setBack = seen - now > CLOCK_STEP_MS ? seen - now : 0;
  const due = Math.max(now, row === undefined ? now : number(row, "due_at") - setBack);
  const startAt = Math.max(now, Math.ceil(due - (MINUTE_MS - interval)));
  if (reject && startAt > now) {
    throw new AppError("rate_limited", `Over the rate of ${perMinute} tasks a minute`, {
      retryAfterSecs: Math.ceil((startAt - now) / 1000),
    });
  }
  db.run(
    `INSERT INTO rates VALUES (?1, ?2, ?3, ?4)
     ON CONFLICT DO UPDATE SET due_at = ?3, seen_at = ?4`,
    task.project,
    task.trigger,
    due + interval,
    setBack > 0 ? now : Math.max(seen, now),
  );
  return startAt;
}
