/**
 * Counts pending and running tasks, for `svc status` and the metrics. It counts in indexes that
 * hold only those, so the number of ended tasks does not matter.
 *
 * @module
 */

import type { TaskCounts } from "../../task_records.ts";
import { number, optionalNumber } from "../../sql/columns.ts";
import type { Database } from "../engine/database.ts";
import type { Row } from "../../sql/row.ts";
import { WAIT_REASON } from "../../sql/wait_reasons.ts";

/** Number of pending and running tasks, and the age of the oldest pending ones. */
export function counts(db: Database): TaskCounts {
  const count = (from: string) =>
    number(db.get(`SELECT count(*) AS n FROM tasks ${from}`) ?? {}, "n");
  const oldest = (from: string): Row =>
    db.get(`SELECT id, created_at AS at FROM tasks ${from} ORDER BY id LIMIT 1`) ?? {};
  const { none } = WAIT_REASON;
  const ready = `INDEXED BY tasks_ready WHERE state = 'pending' AND held = ${none}`;
  const held = `INDEXED BY tasks_held WHERE state = 'pending' AND held > ${none}`;
  const [first, firstHeld] = [oldest(ready), oldest(held)];
  const heldIsOlder = String(firstHeld["id"] ?? "~") < String(first["id"] ?? "~");
  const heldTasks = count(held);
  return {
    pending: count(ready) + heldTasks,
    held: heldTasks,
    running: count("INDEXED BY tasks_running WHERE state = 'running'"),
    ...optionalNumber(heldIsOlder ? firstHeld : first, "at", "oldestPendingAt"),
    ...optionalNumber(first, "at", "oldestReadyAt"),
  };
}
