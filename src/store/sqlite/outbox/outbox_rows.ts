/**
 * The table `outbox`: stores messages and reads them back. The queue is in `outbox_queue.ts`.
 *
 * @module
 */

import type {
  MessageQuery,
  MessageState,
  NewMessage,
  OutboxCounts,
  OutboxMessage,
} from "../../outbox_records.ts";
import type { OutboxStore } from "../../outbox_store.ts";
import { laneOf, SEND_NOW } from "../../rules/outbox.ts";
import { number, optionalNumber, storable } from "../../sql/columns.ts";
import {
  DROP_MESSAGE,
  keyValues,
  MESSAGE_COLUMNS,
  messagesWanted,
  RETRY_MESSAGE,
  retryValues,
  toMessage,
} from "../../sql/outbox.ts";
import { ordered, prefixEnd } from "../../sql/queries.ts";
import type { Database } from "../engine/database.ts";
import type { SqlValue } from "../../sql/row.ts";

/** Stores messages. */
export function addToOutbox(db: Database, messages: readonly NewMessage[]): void {
  for (const message of messages) {
    if (message.key !== "") dropUntried(db, message);
    db.run(
      `INSERT INTO outbox (id, project, connection, kind, target, key, body, task_id, lane,
         state, next_at, created_at, updated_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?)`,
      message.id,
      ...keyValues(message),
      JSON.stringify(message.body),
      message.taskId,
      laneOf(message),
      SEND_NOW,
      message.now,
      message.now,
    );
  }
}

/** The message of this key that nobody has tried yet has nothing to say any more. */
function dropUntried(db: Database, message: NewMessage): void {
  db.run(
    `UPDATE outbox INDEXED BY outbox_of_key SET state = 'dropped', reason = ?, updated_at = ?
     WHERE project = ? AND connection = ? AND kind = ? AND target = ? AND key = ? AND key <> ''
       AND state = 'pending' AND tries = 0`,
    `replaced by outbox/${message.id}`,
    message.now,
    ...keyValues(message),
  );
}

/** Messages, in the order of the list. */
export function listMessages(db: Database, query: MessageQuery): OutboxMessage[] {
  const { clause, values } = messagesWanted(query);
  const index = query.state !== undefined
    ? "INDEXED BY outbox_by_state"
    : query.project === undefined
    ? ""
    : "INDEXED BY outbox_of_project";
  return db.all(
    `SELECT ${MESSAGE_COLUMNS} FROM outbox ${index} ${clause} ${ordered(query)} LIMIT ?`,
    ...values,
    query.limit,
  ).map(toMessage);
}

/** Messages whose id starts with `prefix`, at most two. */
export function findMessages(db: Database, prefix: string): OutboxMessage[] {
  return db.all(
    `SELECT ${MESSAGE_COLUMNS} FROM outbox WHERE id >= ? AND id < ? ORDER BY id LIMIT 2`,
    prefix,
    prefixEnd(prefix),
  ).map(toMessage);
}

/** Makes a message due now that was not sent. */
export function retryMessage(
  db: Database,
  id: string,
  how: Parameters<OutboxStore["retryMessage"]>[1],
): OutboxMessage | undefined {
  return change(db, RETRY_MESSAGE, ...retryValues(how), id);
}

/** Drops a message that was not sent. */
export function dropMessage(
  db: Database,
  id: string,
  { reason, now }: { readonly reason: string; readonly now: number },
): OutboxMessage | undefined {
  return change(db, DROP_MESSAGE, storable(reason), now, id);
}

/** Runs a statement that gives a message, if there is one. */
export function change(
  db: Database,
  sql: string,
  ...values: SqlValue[]
): OutboxMessage | undefined {
  const row = db.returning(sql, ...values);
  return row === undefined ? undefined : toMessage(row);
}

/** Number of messages that wait and that were given up. */
export function outboxCounts(db: Database): OutboxCounts {
  const count = (state: MessageState) =>
    db.get(
      `SELECT count(*) AS n, min(created_at) AS oldest FROM outbox INDEXED BY outbox_by_state
       WHERE state = ?`,
      state,
    ) ?? {};
  const pending = count("pending");
  return {
    pending: number(pending, "n"),
    failed: number(count("failed"), "n"),
    ...optionalNumber(pending, "oldest", "oldestPendingAt"),
  };
}

/** Removes messages from before `before` that wait for nothing; returns how many. */
export function pruneOutbox(
  db: Database,
  { before, limit }: { readonly before: number; readonly limit: number },
): number {
  return db.run(
    `DELETE FROM outbox WHERE id IN (SELECT id FROM outbox INDEXED BY outbox_ended
       WHERE state <> 'pending' AND updated_at < ? ORDER BY updated_at LIMIT ?)`,
    before,
    limit,
  );
}
