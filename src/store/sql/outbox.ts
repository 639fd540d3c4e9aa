/**
 * The table `outbox`, in both databases: stores messages, reads them, and records the results of
 * sending them. The folder of each database claims the messages that are sent next.
 *
 * @module
 */

import type { JsonObject } from "../../base/json.ts";
import type {
  LimitReached,
  MessageQuery,
  MessageResult,
  MessageState,
  NewMessage,
  OutboxCounts,
  OutboxMessage,
} from "../outbox_records.ts";
import type { ExpiredHeld, MessageRetry } from "../outbox_store.ts";
import { canonical, HELD_MS, laneOf, SEND_NOW, WARN_HELD_MS } from "../rules/outbox.ts";
import { json, number, optionalNumber, storable, text } from "./columns.ts";
import { addContent, countOutputs, dropContent, locksOf } from "./outputs.ts";
import { listRange, ordered, prefixEnd, where, type WhereClause } from "./queries.ts";
import type { Row, SqlValue } from "./row.ts";
import type { SqlSession } from "./session.ts";

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

/**
 * Stores messages, none of them if one would pass a limit. Those with a key wait for other daemons that
 * store one to the same place, so that of two the later replaces the earlier.
 */
export async function addToOutbox(
  db: SqlSession,
  messages: readonly NewMessage[],
): Promise<LimitReached | undefined> {
  const keyed = messages.filter(({ key }) => key !== "");
  const locks = [...keyed.map((message) => `outbox/${laneOf(message)}`), ...locksOf(messages)];
  if (locks.length > 0) await db.lock(...locks);
  const reached = await countOutputs(db, messages);
  if (reached !== undefined) return reached;
  for (const message of messages) {
    if (message.key !== "") await dropUntried(db, message);
    await db.run(
      `INSERT INTO outbox (id, project, connection, kind, target, key, body, task_id, lane,
         state, reason, next_at, created_at, updated_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      message.id,
      message.project,
      message.connection,
      message.kind,
      canonical(message.target),
      storable(message.key),
      JSON.stringify(message.body),
      message.taskId,
      laneOf(message),
      message.held === undefined ? "pending" : "held",
      storable(message.held ?? ""),
      message.held === undefined ? SEND_NOW : message.now + WARN_HELD_MS,
      message.now,
      message.now,
    );
    await addContent(db, message);
  }
  return undefined;
}

/** Drops messages that were never tried and that a later message with the same key replaces. */
async function dropUntried(db: SqlSession, later: NewMessage): Promise<void> {
  const { project, connection, kind } = later;
  const untried = await db.all(
    `SELECT id FROM outbox ${db.dialect.indexedBy("outbox_of_key")}
     WHERE project = ? AND connection = ? AND kind = ? AND target = ? AND key = ? AND key <> ''
       AND (state = 'held' OR state = 'pending' AND tries = 0) ${db.dialect.forUpdate}`,
    project,
    connection,
    kind,
    canonical(later.target),
    storable(later.key),
  );
  const end = { reason: `replaced by outbox/${later.id}`, now: later.now };
  for (const row of untried) await dropMessage(db, text(row, "id"), end);
}

/** Messages, in the order of the list. */
export async function listMessages(db: SqlSession, query: MessageQuery): Promise<OutboxMessage[]> {
  const { indexedBy } = db.dialect;
  const index = query.state !== undefined
    ? indexedBy("outbox_by_state")
    : query.project === undefined
    ? ""
    : indexedBy("outbox_of_project");
  const { clause, values } = conditionsOf(query);
  const rows = await db.all(
    `SELECT ${MESSAGE_COLUMNS} FROM outbox ${index} ${clause} ${ordered(query)} LIMIT ?`,
    ...values,
    query.limit,
  );
  return rows.map(toMessage);
}

/** The conditions of a list of messages. */
function conditionsOf(query: MessageQuery): WhereClause {
  return where(Object.assign(
    {
      "project = ?": query.project,
      "state = ?": query.state,
      "task_id = ?": query.taskId,
      'EXISTS (SELECT 1 FROM tasks WHERE tasks.id = task_id AND tasks."trigger" = ?)':
        query.trigger,
    },
    listRange(query, "created_at"),
  ));
}

/** Messages whose id starts with `prefix`, at most two. */
export async function findMessages(db: SqlSession, prefix: string): Promise<OutboxMessage[]> {
  const rows = await db.all(
    `SELECT ${MESSAGE_COLUMNS} FROM outbox WHERE id >= ? AND id < ? ORDER BY id LIMIT 2`,
    prefix,
    prefixEnd(prefix),
  );
  return rows.map(toMessage);
}

/** Makes an unsent message due now, but for one that is held. */
export function retryMessage(
  db: SqlSession,
  id: string,
  { now, forget, through }: MessageRetry,
): Promise<OutboxMessage | undefined> {
  return change(
    db,
    `UPDATE outbox SET state = 'pending', tries = 0, first_tried_at = NULL,
       connection = COALESCE(?, connection), lane = COALESCE(?, lane), next_at = ${SEND_NOW},
       reason = '', updated_at = ?,
       uncertain_since = CASE WHEN ? = 1 THEN NULL ELSE uncertain_since END
     WHERE id = ? AND state NOT IN ('sent', 'held')`,
    through?.connection ?? null,
    through === undefined ? null : laneOf(through),
    now,
    forget ? 1 : 0,
    id,
  );
}

/** Has a held message sent. */
export function releaseMessage(
  db: SqlSession,
  id: string,
  now: number,
): Promise<OutboxMessage | undefined> {
  return change(
    db,
    `UPDATE outbox SET state = 'pending', reason = '', next_at = ${SEND_NOW}, updated_at = ?
     WHERE id = ? AND state = 'held'`,
    now,
    id,
  );
}

/** Drops an unsent message, and what it would have sent. */
export async function dropMessage(
  db: SqlSession,
  id: string,
  { reason, now }: { readonly reason: string; readonly now: number },
): Promise<OutboxMessage | undefined> {
  const dropped = await change(
    db,
    "UPDATE outbox SET state = 'dropped', reason = ?, updated_at = ? WHERE id = ? AND state <> 'sent'",
    storable(reason),
    now,
    id,
  );
  if (dropped !== undefined) await dropContent(db, [id]);
  return dropped;
}

/**
 * Drops messages that have been held too long, and says which are to go next; each is named by one
 * call of all daemons, a day before it goes at the least.
 */
export async function expireHeld(
  db: SqlSession,
  { now, reason, limit }: {
    readonly now: number;
    readonly reason: string;
    readonly limit: number;
  },
): Promise<ExpiredHeld> {
  const { indexedBy, skipLocked } = db.dialect;
  const rows = await db.all(
    `SELECT id, created_at, next_at FROM outbox ${indexedBy("outbox_by_state")}
     WHERE state = 'held' AND next_at <= ? ORDER BY id LIMIT ? ${skipLocked}`,
    now,
    limit,
  );
  const [warned, dropped]: [OutboxMessage[], OutboxMessage[]] = [[], []];
  for (const row of rows) {
    const id = text(row, "id");
    const isNew = number(row, "next_at") <= number(row, "created_at") + WARN_HELD_MS;
    const message = isNew
      ? await change(
        db,
        "UPDATE outbox SET next_at = ? WHERE id = ? AND state = 'held'",
        Math.max(number(row, "created_at") + HELD_MS, now + HELD_MS - WARN_HELD_MS),
        id,
      )
      : await dropMessage(db, id, { reason, now });
    if (message !== undefined) (isNew ? warned : dropped).push(message);
  }
  return { warned, dropped };
}

/**
 * Records what came of a try. That a message was sent counts always, also where an operator has
 * dropped it meanwhile. Any other result counts only for a message that is still pending, and not for
 * one that an operator has made due again since: that has no tries. `isMine` is the condition that
 * this daemon still has the lane: another one may be sending the message by now.
 */
export const finishMessage = (isMine: string) =>
async (
  db: SqlSession,
  id: string,
  result: MessageResult,
  now: number,
): Promise<OutboxMessage | undefined> => {
  if (result.state === "sent") {
    const sent = await change(
      db,
      `UPDATE outbox SET state = 'sent', external_id = ?, reason = '', uncertain_since = NULL,
         updated_at = ? WHERE id = ?`,
      storable(result.externalId),
      now,
      id,
    );
    if (sent !== undefined) await dropContent(db, [id]);
    return sent;
  }
  return await change(
    db,
    `UPDATE outbox SET state = ?, reason = ?, next_at = ?, updated_at = ?,
       uncertain_since = CASE WHEN ? = 1 THEN NULL ELSE uncertain_since END
     WHERE id = ? AND state = 'pending' AND tries > 0 AND ${isMine}`,
    result.state,
    storable(result.reason),
    result.state === "pending" ? result.nextAt : 0,
    now,
    result.certain ? 1 : 0,
    id,
  );
};

/** Changes one message, if there is one. */
async function change(
  db: SqlSession,
  sql: string,
  ...values: readonly SqlValue[]
): Promise<OutboxMessage | undefined> {
  const row = await db.returning(`${sql} RETURNING ${MESSAGE_COLUMNS}`, ...values);
  return row && toMessage(row);
}

/** When the next message is due that is not due yet; `undefined` when there is none. */
export async function nextMessageAt(db: SqlSession, now: number): Promise<number | undefined> {
  const row = await db.get(
    `SELECT next_at AS at FROM outbox ${db.dialect.indexedBy("outbox_due")}
     WHERE state = 'pending' AND next_at > ? ORDER BY next_at LIMIT 1`,
    now,
  );
  return row && number(row, "at");
}

/** Numbers of messages that wait, that are held, and that were given up. */
export async function outboxCounts(db: SqlSession): Promise<OutboxCounts> {
  const row = await db.get(
    `SELECT count(*) FILTER (WHERE state = 'pending') AS pending,
       count(*) FILTER (WHERE state = 'failed') AS failed,
       count(*) FILTER (WHERE state = 'held') AS held,
       min(created_at) FILTER (WHERE state = 'pending') AS oldest
     FROM outbox ${db.dialect.indexedBy("outbox_by_state")}
     WHERE state IN ('held', 'pending', 'failed')`,
  ) ?? {};
  return {
    pending: number(row, "pending"),
    failed: number(row, "failed"),
    held: number(row, "held"),
    ...optionalNumber(row, "oldest", "oldestPendingAt"),
  };
}

/** Removes messages from before `before` that wait for nothing; returns how many. */
export async function pruneOutbox(
  db: SqlSession,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<number> {
  const { indexedBy, skipLocked } = db.dialect;
  const rows = await db.all(
    `SELECT id FROM outbox ${indexedBy("outbox_ended")} WHERE state <> 'pending' AND state <> 'held'
       AND updated_at < ? ORDER BY updated_at LIMIT ? ${skipLocked}`,
    before,
    limit,
  );
  if (rows.length === 0) return 0;
  const ids = rows.map((row) => text(row, "id"));
  await dropContent(db, ids);
  return await db.run(
    "DELETE FROM outbox WHERE id IN (SELECT value FROM json_each(?))",
    JSON.stringify(ids),
  );
}
