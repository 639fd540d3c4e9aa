/**
 * The table `outbox`: stores messages and reads them back. The queue is in `outbox_queue.ts`.
 *
 * @module
 */

import type { JsonObject } from "../../../base/json.ts";
import type {
  MessageQuery,
  MessageState,
  NewMessage,
  OutboxCounts,
  OutboxMessage,
} from "../../outbox_records.ts";
import { canonical, laneOf, SEND_NOW } from "../../rules/outbox.ts";
import { json, number, optionalNumber, storable, text } from "../../sql/columns.ts";
import type { Database } from "../engine/database.ts";
import type { Row, SqlValue } from "../../sql/row.ts";
import { listRange, ordered, prefixEnd, where } from "../../sql/queries.ts";

/** Stores messages. */
export function addToOutbox(db: Database, messages: readonly NewMessage[]): void {
  for (const message of messages) {
    if (message.key !== "") dropUntried(db, message);
    db.run(
      `INSERT INTO outbox (id, project, connection, kind, target, key, body, task_id, lane,
         state, next_at, created_at, updated_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?)`,
      message.id,
      ...placeValues(message),
      storable(message.key),
      JSON.stringify(message.body),
      message.taskId,
      laneOf(message),
      SEND_NOW,
      message.now,
      message.now,
    );
  }
}

/** Project, connection, kind and target: the columns by which places are told apart. */
function placeValues({ project, connection, kind, target }: NewMessage): SqlValue[] {
  return [project, connection, kind, canonical(target)];
}

/** The message of this key that nobody has tried yet has nothing to say any more. */
function dropUntried(db: Database, message: NewMessage): void {
  db.run(
    `UPDATE outbox INDEXED BY outbox_of_key SET state = 'dropped', reason = ?, updated_at = ?
     WHERE project = ? AND connection = ? AND kind = ? AND target = ? AND key = ? AND key <> ''
       AND state = 'pending' AND tries = 0`,
    `replaced by outbox/${message.id}`,
    message.now,
    ...placeValues(message),
    storable(message.key),
  );
}

/** Messages, in the order of the list. */
export function listMessages(db: Database, query: MessageQuery): OutboxMessage[] {
  const { clause, values } = where(Object.assign(
    {
      "project = ?": query.project,
      "state = ?": query.state,
      'EXISTS (SELECT 1 FROM tasks WHERE tasks.id = task_id AND tasks."trigger" = ?)':
        query.trigger,
    },
    listRange(query, "created_at"),
  ));
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
  { now, forget }: { readonly now: number; readonly forget: boolean },
): OutboxMessage | undefined {
  return change(
    db,
    `state = 'pending', tries = 0, first_tried_at = NULL, next_at = ${SEND_NOW}, reason = '',
     updated_at = ?, uncertain_since = CASE WHEN ? THEN NULL ELSE uncertain_since END
     WHERE id = ? AND state <> 'sent'`,
    now,
    forget ? 1 : 0,
    id,
  );
}

/** Drops a message that was not sent. */
export function dropMessage(
  db: Database,
  id: string,
  { reason, now }: { readonly reason: string; readonly now: number },
): OutboxMessage | undefined {
  return change(
    db,
    "state = 'dropped', reason = ?, updated_at = ? WHERE id = ? AND state <> 'sent'",
    storable(reason),
    now,
    id,
  );
}

/** Runs one `UPDATE` of a message; gives it as it is afterwards, `undefined` where none was meant. */
export function change(
  db: Database,
  assignments: string,
  ...values: SqlValue[]
): OutboxMessage | undefined {
  const row = db.returning(
    `UPDATE outbox SET ${assignments} RETURNING ${MESSAGE_COLUMNS}`,
    ...values,
  );
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

/** Columns of an {@linkcode OutboxMessage}. */
export const MESSAGE_COLUMNS =
  `id, project, connection, kind, target, key, body, task_id, state, tries, next_at,
  uncertain_since, first_tried_at, external_id, reason, created_at, updated_at`;

/** Converts a row of these columns. */
export function toMessage(row: Row): OutboxMessage {
  return {
    id: text(row, "id"),
    project: text(row, "project"),
    connection: text(row, "connection"),
    kind: text(row, "kind"),
    target: json(row, "target") as JsonObject,
    key: text(row, "key"),
    body: json(row, "body") as JsonObject,
    taskId: text(row, "task_id"),
    state: text(row, "state") as MessageState,
    tries: number(row, "tries"),
    nextAt: number(row, "next_at"),
    ...optionalNumber(row, "uncertain_since", "uncertainSince"),
    ...optionalNumber(row, "first_tried_at", "firstTriedAt"),
    externalId: text(row, "external_id"),
    reason: text(row, "reason"),
    createdAt: number(row, "created_at"),
    updatedAt: number(row, "updated_at"),
  };
}
