/**
 * The table `task_ends`: ended tasks that triggers follow, kept until those triggers have fired, so
 * that a crash between the end of one task and the start of the next loses nothing.
 *
 * @module
 */

import type { Task } from "../../task_records.ts";
import type { Database } from "../engine/database.ts";
import { readTasks } from "./task_rows.ts";

/** Stores that a task has ended and its triggers have to fire. */
export function noteTaskEnd(db: Database, taskId: string): void {
  db.run("INSERT OR IGNORE INTO task_ends VALUES (?)", taskId);
}

/** Ended tasks whose triggers have not fired yet, oldest first. */
export function listTaskEnds(db: Database, limit: number): Task[] {
  return readTasks(
    db,
    "WHERE id IN (SELECT task_id FROM task_ends ORDER BY task_id LIMIT ?) ORDER BY id",
    [limit],
  );
}

/** Removes the end of a task once its triggers have fired. */
export function forgetTaskEnd(db: Database, taskId: string): void {
  db.run("DELETE FROM task_ends WHERE task_id = ?", taskId);
}
