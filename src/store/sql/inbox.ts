/**
 * The table `inbox`, in both databases: messages to tasks that have not ended.
 *
 * @module
 */

import { utf8 } from "../../base/bytes.ts";
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
  const text = JSON.stringify(message);
  const task = await db.returning(
    `UPDATE tasks SET messages = messages + 1, message_bytes = message_bytes + ?
     WHERE id = ? AND ${UNFINISHED} RETURNING messages - 1 AS position`,
    utf8(text).length,
    taskId,
  );
  if (task === undefined) return undefined;
  const row = await db.returning(
    "INSERT INTO inbox VALUES (?, ?, ?, ?) RETURNING *",
    taskId,
    number(task, "position"),
    text,
    now,
  );
  return row && toInboxMessage(row);
}

/** Messages of a task, oldest first. */
export async function listInbox(db: SqlSession, taskId: string): Promise<InboxMessage[]> {
  const rows = await db.all("SELECT * FROM inbox WHERE task_id = ? ORDER BY position", taskId);
  return rows.map(toInboxMessage);
}

/** The messages of a task that no step was given, oldest first. */
export async function listUnread(db: SqlSession, taskId: string): Promise<InboxMessage[]> {
  const rows = await db.all(
    `SELECT inbox.* FROM inbox JOIN tasks ON tasks.id = inbox.task_id
     WHERE inbox.task_id = ? AND position >= tasks.read_up_to ORDER BY position`,
    taskId,
  );
  return rows.map(toInboxMessage);
}

/**
 * The condition on the messages that are the event of a delivery in a conversation: in the inbox of the task
 * that was told it, and where it has gone over, in those of its follow-ups. Takes the id and
 * {@linkcode ofDelivery} of it as its first two values.
 */
export const IS_OF_DELIVERY = `message LIKE ?2 AND task_id IN (
  WITH RECURSIVE told(id) AS (SELECT task_id FROM deliveries WHERE deliveries.id = ?1
    UNION SELECT tasks.id FROM told JOIN tasks ON tasks.parent_id = told.id)
  SELECT id FROM told)`;

/** The beginning of such a message, which `intake/admission/conversation.ts` makes, as a pattern. */
export const ofDelivery = (id: string) => `${JSON.stringify({ delivery_id: id }).slice(0, -1)},%`;

function toInboxMessage(row: Row): InboxMessage {
  return {
    position: number(row, "position"),
    message: json(row, "message") as JsonObject,
    createdAt: number(row, "created_at"),
  };
}
