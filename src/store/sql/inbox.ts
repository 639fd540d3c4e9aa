/**
 * The table `inbox`, in both databases: messages to tasks.
 *
 * @module
 */

import { utf8 } from "../../base/bytes.ts";
import type { JsonObject } from "../../base/json.ts";
import type { InboxMessage, RetryOf } from "../task_records.ts";
import { json, number, text } from "./columns.ts";
import { OF_CHAT } from "./conversations.ts";
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
 * Gives the retry of a task its inbox, at the same positions: what the steps of that task have read, because
 * some of them run again, and, unless the conversation goes on with another task, what no step has read. That
 * leaves the old task, whose end may not be handled yet: it starts no follow-up, too. Replies in a thread do
 * not leave it, because they are routed again; those of a cancelled task are not.
 */
export async function giveToRetry(
  db: SqlSession,
  { id, of }: Pick<RetryOf, "id" | "of">,
): Promise<void> {
  const old = await db.get(
    `SELECT state, messages, read_up_to, CASE WHEN conversation IS NULL
       OR EXISTS (SELECT 1 FROM conversations WHERE task_id = ?1) THEN 1 ELSE 0 END AS has_unread
     FROM tasks WHERE id = ?2`,
    id,
    of,
  );
  if (old === undefined || number(old, "messages") === 0) return;
  const readUpTo = number(old, "read_up_to");
  const upTo = number(old, "has_unread") === 1 ? number(old, "messages") : readUpTo;
  const movable = text(old, "state") === "cancelled" ? "" : `AND NOT ${OF_CHAT}`;
  await db.run(
    `INSERT INTO inbox SELECT ?1, position, message, created_at FROM inbox
     WHERE task_id = ?2 AND position < ?3 AND (position < ?4 OR position >= ?4 ${movable})`,
    id,
    of,
    upTo,
    readUpTo,
  );
  await db.run(
    `DELETE FROM inbox WHERE task_id = ? AND position >= ? AND position < ? ${movable}`,
    of,
    readUpTo,
    upTo,
  );
  await db.run(
    `UPDATE tasks SET messages = ?2, read_up_to = ?3, message_bytes =
       (SELECT coalesce(sum(octet_length(message)), 0) FROM inbox WHERE task_id = ?1) WHERE id = ?1`,
    id,
    upTo,
    readUpTo,
  );
}

/** The condition on a message in one of the inboxes to which it may have gone; see {@linkcode messagesOf}. */
export const IS_MESSAGE = "task_id = ? AND message LIKE ?";

/**
 * The messages that a delivery was, in a conversation (`intake/admission/conversation.ts` makes it) or in a
 * chat (`intake/slack/decide_routing.ts`), as the values that {@linkcode IS_MESSAGE} takes.
 */
export async function messagesOf(db: SqlSession, deliveryId: string): Promise<[string, string][]> {
  const told = await db.all("SELECT task_id FROM deliveries WHERE id = ?", deliveryId);
  const events = await db.all(
    "SELECT id, task_id FROM source_events WHERE delivery_id = ?",
    deliveryId,
  );
  const found = [
    ...told.map((row) => [{ delivery_id: deliveryId }, row] as const),
    ...events.map((row) => [{ source_event_id: text(row, "id") }, row] as const),
  ];
  const messages: [string, string][] = [];
  for (const [field, row] of found) {
    const tasks = await withLater(db, text(row, "task_id"));
    messages.push(...tasks.map((id): [string, string] => [id, beginningOf(field)]));
  }
  return messages;
}

/** The texts that begin with this field. */
export const beginningOf = (field: JsonObject) => `${JSON.stringify(field).slice(0, -1)}%`;

/** A task, which may be gone, with its follow-ups and its retries, and theirs: a table by the first value of a query. */
export const LATER = `later(id) AS (SELECT id FROM tasks WHERE id = ?1
    UNION SELECT id FROM tasks WHERE parent_id = ?1 UNION SELECT id FROM tasks WHERE retry_of = ?1
  UNION SELECT tasks.id FROM later
    JOIN tasks ON tasks.parent_id = later.id OR tasks.retry_of = later.id)`;

/**
 * Ids of a task, which may be gone, its follow-ups and its retries, and theirs. To be read on its own: as part of another query,
 * PostgreSQL takes it for so many that it reads the whole inbox.
 */
async function withLater(db: SqlSession, taskId: string): Promise<string[]> {
  if (taskId === "") return [];
  const rows = await db.all(
    `WITH RECURSIVE ${LATER} SELECT id FROM later`,
    taskId,
  );
  return rows.map((row) => text(row, "id"));
}

/** Ids of the stored tasks that have a delivery as a message. */
export async function tasksTold(db: SqlSession, deliveryId: string): Promise<string[]> {
  const told = new Set<string>();
  for (const one of await messagesOf(db, deliveryId)) {
    for (const row of await db.all(`SELECT task_id FROM inbox WHERE ${IS_MESSAGE}`, ...one)) {
      told.add(text(row, "task_id"));
    }
  }
  return [...told];
}

function toInboxMessage(row: Row): InboxMessage {
  return {
    position: number(row, "position"),
    message: json(row, "message") as JsonObject,
    createdAt: number(row, "created_at"),
  };
}
