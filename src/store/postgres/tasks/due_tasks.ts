/**
 * Tasks that wait for their time: those whose time has come wait for room from then on.
 *
 * @module
 */

import { whatIsDue } from "../../rules/readiness.ts";
import { text } from "../../sql/columns.ts";
import { READINESS } from "../../sql/readiness.ts";
import { releaseDue } from "../../transactions/queue_for_room.ts";
import type { Session } from "../database/connections.ts";
import { changeTasks } from "../working_set/change_tasks.ts";

/** Most due tasks that one claim handles, so that other calls do not wait long. */
const DUE_BATCH = 500;

const TIMED = `tasks WHERE state = 'pending' AND readiness = ${READINESS.delayed}`;

/** When the next task is due; `undefined` when none waits for its time. */
export async function findNextTime(db: Session): Promise<number | undefined> {
  const at = (await db.get(`SELECT min(run_at) AS at FROM ${TIMED}`))?.["at"];
  return typeof at === "number" ? at : undefined;
}

/** Makes tasks whose time has come wait for room; one daemon at a time. */
export async function releaseDueTasks(db: Session, now: number): Promise<void> {
  const { runAtUpTo, createdAfter } = whatIsDue(now);
  await db.lock("due");
  const due = await db.all(
    `(SELECT id FROM ${TIMED} AND run_at <= ?1 ORDER BY run_at LIMIT ?3)
     UNION (SELECT id FROM ${TIMED} AND created_at > ?2 ORDER BY created_at LIMIT ?3)`,
    runAtUpTo,
    createdAfter,
    DUE_BATCH,
  );
  if (due.length === 0) return;
  const ids = due.map((row) => text(row, "id"));
  await changeTasks(
    db,
    (wanted) => {
      for (const id of ids) wanted.addTask(id);
    },
    (set) => releaseDue(set, set.findTimed(ids)),
  );
}
