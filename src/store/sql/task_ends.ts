/**
 * The table `task_ends`, in both databases: ended tasks that triggers follow. A row stays until
 * those triggers have fired, so that a crash between the end of one task and the start of the next
 * loses nothing.
 *
 * @module
 */

import type { NewMessage } from "../outbox_records.ts";
import { number } from "./columns.ts";
import { addToOutbox } from "./outbox.ts";
import type { SqlSession } from "./session.ts";

/**
 * Removes the end of a task once its triggers have fired, unless another call has done so. Its answers are
 * what the trigger reports: they count against no limit of `may`, so none can be reached.
 *
 * @param unread how many messages of the task were unread when its end was handled: if more have come behind
 * them since, its end is handled again
 */
export async function forgetTaskEnd(
  db: SqlSession,
  taskId: string,
  answers: readonly NewMessage[],
  unread?: number,
): Promise<void> {
  if (unread !== undefined) {
    const task = await db.get(
      `SELECT messages - read_up_to AS unread FROM tasks WHERE id = ? ${db.dialect.forUpdate}`,
      taskId,
    );
    if (task !== undefined && number(task, "unread") > unread) return;
  }
  const removed = await db.run("DELETE FROM task_ends WHERE task_id = ?", taskId);
  if (removed > 0) await addToOutbox(db, answers);
}
