/**
 * The table `inbox`: messages to tasks that have not ended.
 *
 * @module
 */

import type { JsonObject } from "../../../base/json.ts";
import type { InboxMessage } from "../../task_records.ts";
import { toInboxMessage } from "../../sql/inbox.ts";
import type { Session } from "../database/connections.ts";

/**
 * Adds a message; `undefined` when the task has ended or does not exist. The row of the task is
 * locked: its messages get their positions one after the other, and it does not end meanwhile.
 */
export async function addToInbox(
  db: Session,
  taskId: string,
  message: JsonObject,
  now: number,
): Promise<InboxMessage | undefined> {
  const open = await db.get(
    "SELECT 1 FROM tasks WHERE id = ? AND state IN ('pending', 'running') FOR UPDATE",
    taskId,
  );
  if (open === undefined) return undefined;
  const row = await db.get(
    `INSERT INTO inbox SELECT ?1, coalesce(max(position) + 1, 0), ?2, ?3 FROM inbox
       WHERE task_id = ?1 RETURNING *`,
    taskId,
    JSON.stringify(message),
    now,
  );
  return toInboxMessage(row ?? {});
}

/** Messages of a task, oldest first. */
export async function listInbox(db: Session, taskId: string): Promise<InboxMessage[]> {
  return (await db.all("SELECT * FROM inbox WHERE task_id = ? ORDER BY position", taskId))
    .map(toInboxMessage);
}
