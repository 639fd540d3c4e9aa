/**
 * Counts the tasks that have not ended, for `svc status` and the metrics. It counts in indexes that
 * hold only those, so the number of ended tasks does not matter.
 *
 * @module
 */

import { defined } from "../../../base/defined.ts";
import type { TaskCounts } from "../../task_records.ts";
import { earlier } from "../../rules/pauses.ts";
import { isFull } from "../../rules/project_rooms.ts";
import { number, text } from "../../sql/columns.ts";
import type { Database } from "../engine/database.ts";
import type { Row } from "../../sql/row.ts";
import { PLACES } from "../../../resources/priority.ts";
import { listRooms } from "../../sql/project_rooms.ts";
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

/** The projects with a limit, and how many of their tasks run. */
export const listProjectRooms = listRooms("state = 'running'");

/** Number of tasks that have not ended, and the age of the oldest pending ones. */
export async function counts(db: Database): Promise<TaskCounts> {
  const count = (from: string) =>
    number(db.get(`SELECT count(*) AS n FROM tasks ${from}`) ?? {}, "n");
  const timed =
    `INDEXED BY tasks_timed_by_age WHERE state = 'pending' AND readiness = ${READINESS.delayed}`;
  const parts = db.all(
    `SELECT project, priority, count(*) AS n, min(pending_since) AS since
     FROM tasks INDEXED BY tasks_ready
     WHERE state = 'pending' AND readiness = ${READINESS.ready} GROUP BY project, priority`,
  );
  const unready = db.get(
    `SELECT count(*) AS n, min(pending_since) AS since FROM tasks INDEXED BY tasks_unready
     WHERE state = 'pending' AND readiness > ${READINESS.ready}`,
  ) ?? {};
  const full = new Set((await listProjectRooms(db)).filter(isFull).map(({ project }) => project));
  const isBehind = (row: Row) => full.has(text(row, "project"));
  const ready = parts.filter((row) => !isBehind(row));
  const oldest = (rows: readonly Row[]) =>
    rows.flatMap(({ since }) => typeof since === "number" ? [since] : [])
      .reduce<number | undefined>((least, since) => earlier(least, since), undefined);
  const sum = (rows: readonly Row[]) => rows.reduce((all, row) => all + number(row, "n"), 0);
  const [all, delayed] = [number(unready, "n"), count(timed)];
  return {
    pending: sum(parts) + all,
    queued: sum(parts.filter(isBehind)) + all - delayed,
    delayed,
    waiting: count("INDEXED BY tasks_waiting WHERE state = 'waiting'"),
    running: count("INDEXED BY tasks_running WHERE state = 'running'"),
    ...defined({
      oldestPendingAt: oldest([...parts, unready]),
      oldestReadyAt: oldest(ready),
      oldestLowAt: oldest(ready.filter(({ priority }) => priority === PLACES.low)),
    }),
  };
}
