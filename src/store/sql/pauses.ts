/**
 * The table `pauses`, in both databases: of which project no worker takes a task.
 *
 * @module
 */

import type { Pause } from "../pause_records.ts";
import { isInForce } from "../rules/pauses.ts";
import { number, optionalNumber, storable, text } from "./columns.ts";
import type { Row } from "./row.ts";
import type { SqlSession } from "./session.ts";

const COLUMNS = "project, reason, paused_by, paused_at, until";

/** The pauses that are in force, that of every project first, then by project. */
export async function listPauses(db: SqlSession, now: number): Promise<Pause[]> {
  const rows = await db.all(`SELECT ${COLUMNS} FROM pauses ORDER BY project`);
  return rows.map(toPause).filter((pause) => isInForce(pause, now));
}

/**
 * Stores a pause in the place of one of the same project. A claim has the same lock, so the tasks that
 * are taken at this moment are taken before.
 */
export async function pauseTasks(
  db: SqlSession,
  { project, reason, by, pausedAt, until }: Pause,
): Promise<void> {
  await db.lock("pause");
  await db.run(
    `INSERT INTO pauses (${COLUMNS}) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (project) DO UPDATE SET reason = excluded.reason, paused_by = excluded.paused_by,
       paused_at = excluded.paused_at, until = excluded.until`,
    project,
    storable(reason),
    by,
    pausedAt,
    until ?? null,
  );
}

/** Ends a pause; `undefined` if there was none in force. */
export async function resumeTasks(
  db: SqlSession,
  project: string,
  now: number,
): Promise<Pause | undefined> {
  const row = await db.returning(
    `DELETE FROM pauses WHERE project = ? RETURNING ${COLUMNS}`,
    project,
  );
  const pause = row === undefined ? undefined : toPause(row);
  return pause !== undefined && isInForce(pause, now) ? pause : undefined;
}

function toPause(row: Row): Pause {
  return {
    project: text(row, "project"),
    reason: text(row, "reason"),
    by: text(row, "paused_by"),
    pausedAt: number(row, "paused_at"),
    ...optionalNumber(row, "until", "until"),
  };
}

/** A row as a claim reads it. */
export function toPausedProject(row: Row): Pick<Pause, "project" | "until"> {
  return { project: text(row, "project"), ...optionalNumber(row, "until", "until") };
}
