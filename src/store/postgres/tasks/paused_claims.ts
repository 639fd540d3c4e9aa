/**
 * Pauses in a database that several daemons share: what a claim must not take.
 *
 * @module
 */

import type { Pause } from "../../pause_records.ts";
import { type Paused, whatIsPaused } from "../../rules/pauses.ts";
import { pauseTasks, toPausedProject } from "../../sql/pauses.ts";
import type { Session } from "../database/connections.ts";

/** What a claim must not take; no pause begins before its transaction ends. */
export async function readPaused(db: Session, now: number): Promise<Paused> {
  const rows = await db.all("SELECT project, until FROM pauses_for_claim()");
  return whatIsPaused(rows.map(toPausedProject), now);
}

/** Stores a pause. Jobs of a version that did not note their project get it now. */
export async function pauseClaims(db: Session, pause: Pause): Promise<void> {
  await pauseTasks(db, pause);
  await db.get("SELECT jobs_name_projects()");
}
