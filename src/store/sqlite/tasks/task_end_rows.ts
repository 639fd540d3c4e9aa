/**
 * The table `task_ends`: ended tasks that triggers follow, until somebody has looked at them, so
 * that a crash between the end of one task and the start of the next loses nothing.
 *
 * @module
 */

import type { Task } from "../../task_records.ts";
import type { Database } from "../engine/database.ts";
import { readTasks } from "./task_rows.ts";

/** This task has ended and has to be looked at. */
export function noteTaskEnd(db: Database, taskId: string): void {
  db.run("INSERT OR IGNORE INTO task_ends VALUES (?)", taskId);
}

/** Ended tasks that have not been looked at, oldest first. */
export function listTaskEnds(db: Database, limit: number): Task[] {
  return readTasks(
    db,
    "WHERE id IN (SELECT task_id FROM task_ends ORDER BY task_id LIMIT ?) ORDER BY id",
    [limit],
  );
}

/** An ended task has been looked at. */
export function forgetTaskEnd(db: Database, taskId: string): void {
  db.run("DELETE FROM task_ends WHERE task_id = ?", taskId);
}
