/**
 * The table `task_ends`: ended tasks that triggers follow, kept until those triggers have fired, so
 * that a crash between the end of one task and the start of the next loses nothing.
 *
 * @module
 */

import type { NewMessage } from "../../outbox_records.ts";
import type { Task } from "../../task_records.ts";
import type { Database } from "../engine/database.ts";
import { addToOutbox } from "../outbox/outbox_rows.ts";
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

/** Removes the end of a task once its triggers have fired, unless somebody else has done so. */
export function forgetTaskEnd(
  db: Database,
  taskId: string,
  answers: readonly NewMessage[],
): void {
  const removed = db.run("DELETE FROM task_ends WHERE task_id = ?", taskId);
  if (removed > 0) addToOutbox(db, answers);
}
