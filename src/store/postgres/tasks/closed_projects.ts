/**
 * What a claim must not take from a database that several daemons share: tasks of paused projects, and of
 * those that have no room.
 *
 * @module
 */

import type { Pause } from "../../pause_records.ts";
import { type Paused, whatIsPaused } from "../../rules/pauses.ts";
import { ProjectRooms } from "../../rules/project_rooms.ts";
import { pauseTasks, toPausedProject } from "../../sql/pauses.ts";
import { LIMITING } from "../../sql/project_rooms.ts";
import type { Session } from "../database/connections.ts";
import { listProjectRooms } from "./task_counts.ts";

/** What a claim must not take, and whether a project has a limit, of which it has to know more. */
export interface Closed extends Paused {
  readonly isLimited: boolean;
}

/** What a claim must not take; no pause begins before its transaction ends. */
export async function readClosed(db: Session, now: number): Promise<Closed> {
  const rows = await db.all(
    `SELECT project, until, 0 AS is_limit FROM pauses_for_claim()
     UNION ALL SELECT '', NULL, 1 WHERE EXISTS (SELECT 1 FROM resources WHERE ${LIMITING})`,
  );
  const pauses = rows.filter((row) => row["is_limit"] === 0);
  return {
    ...whatIsPaused(pauses.map(toPausedProject), now),
    isLimited: pauses.length < rows.length,
  };
}

/**
 * The room in projects with a limit, for a claim. No other claim takes any before this transaction
 * ends, so that two together never take more than there is.
 */
export async function readRooms(
  db: Session,
  { isLimited }: Pick<Closed, "isLimited">,
): Promise<ProjectRooms> {
  if (!isLimited) return new ProjectRooms([]);
  await db.lock("project rooms");
  return new ProjectRooms(await listProjectRooms(db));
}

/** Stores a pause. Jobs of a version that did not note their project get it now. */
export async function pauseClaims(db: Session, pause: Pause): Promise<void> {
  await pauseTasks(db, pause);
  await db.get("SELECT jobs_name_projects()");
}
