/**
 * The table `inbox`, in both databases: messages to tasks that have not ended.
 *
 * @module
 */

import type { JsonObject } from "../../base/json.ts";
import type { InboxMessage } from "../task_records.ts";
import { json, number } from "./columns.ts";
import { UNFINISHED } from "./readiness.ts";
import type { Row } from "./row.ts";
import type { SqlSession } from "./session.ts";

/**
 * Adds a message; `undefined` when the task has ended or does not exist. The row of the task is
 * locked: its messages get their positions one after the other, and it does not end meanwhile.
 */
export async function addToInbox(
  db: SqlSession,
  taskId: string,
  message: JsonObject,
  now: number,
): Promise<InboxMessage | undefined> {
  const task = await db.get(
    `SELECT 1 FROM tasks WHERE id = ? AND ${UNFINISHED} ${db.dialect.forUpdate}`,
    taskId,
  );
  if (task === undefined) return undefined;
  const row = await db.returning(
    `INSERT INTO inbox SELECT ?1, coalesce(max(position) + 1, 0), ?2, ?3 FROM inbox
       WHERE task_id = ?1 RETURNING *`,
    taskId,
    JSON.stringify(message),
    now,
  );
  return row && toInboxMessage(row);
}

/** Messages of a task, oldest first. */
export async function listInbox(db: SqlSession, taskId: string): Promise<InboxMessage[]> {
  const rows = await db.all("SELECT * FROM inbox WHERE task_id = ? ORDER BY position", taskId);
  return rows.map(toInboxMessage);
}

function toInboxMessage(row: Row): InboxMessage {
  return {
    position: number(row, "position"),
    message: json(row, "message") as JsonObject,
    createdAt: number(row, "created_at"),
  };
}
