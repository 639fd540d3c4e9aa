/**
 * Counts the tasks that have not ended, for `svc status` and the metrics. It counts in indexes that
 * hold only those, so the number of ended tasks does not matter.
 *
 * @module
 */

import type { TaskCounts } from "../../task_records.ts";
import { number, optionalNumber } from "../../sql/columns.ts";
import type { Database } from "../engine/database.ts";
import type { Row } from "../../sql/row.ts";
import { PLACES, USUAL_PLACE } from "../../../resources/priority.ts";
import { READINESS } from "../../sql/readiness.ts";

/** Number of running tasks, of one project or of all if that is empty. */
export function countRunning(db: Database, project: string): number {
  const row = db.get(
    `SELECT count(*) AS n FROM tasks INDEXED BY tasks_running
     WHERE state = 'running' AND (?1 = '' OR project = ?1)`,
    project,
  );
  return number(row ?? {}, "n");
}

/** Number of tasks that have not ended, and the age of the oldest pending ones. */
export function counts(db: Database): TaskCounts {
  const count = (from: string) =>
    number(db.get(`SELECT count(*) AS n FROM tasks ${from}`) ?? {}, "n");
  const oldest = (from: string): Row =>
    db.get(`SELECT id, created_at AS at FROM tasks ${from} ORDER BY id LIMIT 1`) ?? {};
  const ready = `INDEXED BY tasks_ready WHERE state = 'pending' AND readiness = ${READINESS.ready}`;
  const unready =
    `INDEXED BY tasks_unready WHERE state = 'pending' AND readiness > ${READINESS.ready}`;
  const timed =
    `INDEXED BY tasks_timed_by_age WHERE state = 'pending' AND readiness = ${READINESS.delayed}`;
  const low = oldest(`${ready} AND priority = ${PLACES.low}`);
  const byPriority = [PLACES.high, USUAL_PLACE].map((place) =>
    oldest(`${ready} AND priority = ${place}`)
  );
  const [first = {}] = [...byPriority, low].filter((row) => "id" in row)
    .toSorted((a, b) => String(a["id"]) < String(b["id"]) ? -1 : 1);
  const firstUnready = oldest(unready);
  const unreadyIsOlder = String(firstUnready["id"] ?? "~") < String(first["id"] ?? "~");
  const [all, delayed] = [count(unready), count(timed)];
  return {
    pending: count(ready) + all,
    queued: all - delayed,
    delayed,
    waiting: count("INDEXED BY tasks_waiting WHERE state = 'waiting'"),
    running: count("INDEXED BY tasks_running WHERE state = 'running'"),
    ...optionalNumber(unreadyIsOlder ? firstUnready : first, "at", "oldestPendingAt"),
    ...optionalNumber(first, "at", "oldestReadyAt"),
    ...optionalNumber(low, "at", "oldestLowAt"),
  };
}
