/**
 * Counts the tasks that have not ended, for `svc status` and the metrics. It counts in an index that
 * holds only those, so the number of ended tasks does not matter.
 *
 * @module
 */

import type { TaskCounts } from "../../task_records.ts";
import { isFull } from "../../rules/project_rooms.ts";
import { number, optionalNumber, text } from "../../sql/columns.ts";
import type { Row } from "../../sql/row.ts";
import { PLACES } from "../../../resources/priority.ts";
import { listRooms } from "../../sql/project_rooms.ts";
import { READINESS, UNFINISHED } from "../../sql/readiness.ts";
import type { Session } from "../database/connections.ts";
import { isGoneSql } from "../database/ownership.ts";

/** The tasks that living nodes run. */
const RUNNING = `state = 'running' AND NOT ${isGoneSql("tasks")}`;

/** Number of tasks that living nodes run, of one project or of all if that is empty. */
export async function countRunning(db: Session, project: string): Promise<number> {
  const row = await db.get(
    `SELECT count(*) AS n FROM tasks WHERE ${RUNNING} AND (?1 = '' OR project = ?1)`,
    project,
  );
  return number(row ?? {}, "n");
}

/**
 * The projects with a limit, and how many of their tasks run. Those that a dead node left running
 * need room to go on, like others, or nothing of theirs could be taken over.
 */
export const listProjectRooms = listRooms(RUNNING);

/** Number of tasks that have not ended, and the age of the oldest pending ones. */
export async function counts(db: Session): Promise<TaskCounts> {
  const rows = await db.all(
    `SELECT state, readiness, count(*) AS tasks, min(pending_since) AS since FROM tasks
     WHERE ${UNFINISHED} GROUP BY state, readiness ORDER BY since`,
  );
  const full = (await listProjectRooms(db)).filter(isFull).map(({ project }) => project);
  const oldest = (which: string) =>
    db.get(
      `SELECT pending_since AS since FROM tasks
       WHERE ${READY} AND ${which} AND project <> ALL (?) ORDER BY pending_since LIMIT 1`,
      full,
    );
  const low = await oldest(`priority = ${PLACES.low}`);
  const pending = rows.filter((row) => row["state"] === "pending");
  const is = (readiness: number) => (row: Row) => row["readiness"] === readiness;
  const [isReady, isDelayed] = [is(READINESS.ready), is(READINESS.delayed)];
  const count = (some: readonly Row[]) => some.reduce((sum, row) => sum + number(row, "tasks"), 0);
  const [first] = pending;
  const ready = full.length === 0 ? pending.find(isReady) : await oldest("TRUE");
  return {
    pending: count(pending),
    queued: await countBehind(db, full) + count(
      pending.filter(({ readiness }) => Number(readiness) > READINESS.ready).filter((row) =>
        !isDelayed(row)
      ),
    ),
    delayed: count(pending.filter(isDelayed)),
    waiting: count(rows.filter((row) => text(row, "state") === "waiting")),
    running: count(rows.filter((row) => text(row, "state") === "running")),
    ...optionalNumber(first ?? {}, "since", "oldestPendingAt"),
    ...optionalNumber(low ?? {}, "since", "oldestLowAt"),
    ...optionalNumber(ready ?? {}, "since", "oldestReadyAt"),
  };
}

const READY = `state = 'pending' AND readiness = ${READINESS.ready}`;

/** Number of the tasks that only wait for room in their project. */
async function countBehind(db: Session, full: readonly string[]): Promise<number> {
  if (full.length === 0) return 0;
  const row = await db.get(
    `SELECT count(*) AS n FROM tasks WHERE ${READY} AND project = ANY (?)`,
    full,
  );
  return number(row ?? {}, "n");
}
