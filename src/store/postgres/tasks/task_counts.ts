/**
 * Counts the tasks that have not ended, for `svc status` and the metrics. It counts in an index that
 * holds only those, so the number of ended tasks does not matter.
 *
 * @module
 */

import type { TaskCounts } from "../../task_records.ts";
import { number, text } from "../../sql/columns.ts";
import type { Row } from "../../sql/row.ts";
import { PLACES } from "../../../resources/priority.ts";
import { READINESS, UNFINISHED } from "../../sql/readiness.ts";
import type { Session } from "../database/connections.ts";
import { isGoneSql } from "../database/ownership.ts";

/** Number of tasks that living nodes run, of one project or of all if that is empty. */
export async function countRunning(db: Session, project: string): Promise<number> {
  const row = await db.get(
    `SELECT count(*) AS n FROM tasks WHERE state = 'running' AND (?1 = '' OR project = ?1)
       AND NOT ${isGoneSql("tasks")}`,
    project,
  );
  return number(row ?? {}, "n");
}

/** Number of tasks that have not ended, and the age of the oldest pending ones. */
export async function counts(db: Session): Promise<TaskCounts> {
  const rows = await db.all(
    `SELECT open.*, tasks.created_at FROM
       (SELECT state, readiness, count(*) AS tasks, min(id) AS first FROM tasks
        WHERE ${UNFINISHED} GROUP BY state, readiness) AS open
     JOIN tasks ON tasks.id = open.first ORDER BY open.first`,
  );
  const low = await db.get(
    `SELECT created_at FROM tasks WHERE state = 'pending' AND readiness = ${READINESS.ready}
       AND priority = ${PLACES.low} ORDER BY id LIMIT 1`,
  );
  const pending = rows.filter((row) => row["state"] === "pending");
  const is = (readiness: number) => (row: Row) => row["readiness"] === readiness;
  const [isReady, isDelayed] = [is(READINESS.ready), is(READINESS.delayed)];
  const count = (some: readonly Row[]) => some.reduce((sum, row) => sum + number(row, "tasks"), 0);
  const [oldest] = pending;
  const [oldestReady] = pending.filter(isReady);
  return {
    pending: count(pending),
    queued: count(
      pending.filter(({ readiness }) => Number(readiness) > READINESS.ready).filter((row) =>
        !isDelayed(row)
      ),
    ),
    delayed: count(pending.filter(isDelayed)),
    waiting: count(rows.filter((row) => text(row, "state") === "waiting")),
    running: count(rows.filter((row) => text(row, "state") === "running")),
    ...(oldest && { oldestPendingAt: number(oldest, "created_at") }),
    ...(low && { oldestLowAt: number(low, "created_at") }),
    ...(oldestReady && { oldestReadyAt: number(oldestReady, "created_at") }),
  };
}
