/**
 * The table `outbox`: stores messages and reads them back. The queue is in `outbox_queue.ts`.
 *
 * @module
 */

import type {
  MessageQuery,
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
import type { Session, Value } from "../database/connections.ts";

/**
 * Stores messages. Those with a key wait for other daemons that store one to the same place, so that
 * of two the later replaces the earlier.
 */
export async function addToOutbox(db: Session, messages: readonly NewMessage[]): Promise<void> {
  if (messages.length === 0) return;
  const keyed = messages.filter(({ key }) => key !== "");
  if (keyed.length > 0) await db.lock(...keyed.map((message) => `outbox/${laneOf(message)}`));
  const keys = messages.map(keyValues);
  await db.run(
    `INSERT INTO outbox (id, project, connection, kind, target, key, body, task_id, lane,
       created_at, updated_at, state, next_at)
     SELECT *, now, 'pending', ${SEND_NOW} FROM unnest(?::text[], ?::text[], ?::text[], ?::text[],
       ?::text[], ?::text[], ?::text[], ?::text[], ?::text[], ?::bigint[])
       AS new (id, project, connection, kind, target, key, body, task_id, lane, now)`,
    messages.map(({ id }) => id),
    ...([0, 1, 2, 3, 4] as const).map((column) => keys.map((values) => values[column])),
    messages.map(({ body }) => JSON.stringify(body)),
    messages.map(({ taskId }) => taskId),
    messages.map(laneOf),
    messages.map(({ now }) => now),
  );
  if (keyed.length > 0) await dropUntried(db, keyed.map(({ id }) => id));
}

/** What nobody has tried yet has nothing to say once there is a later message of its key. */
async function dropUntried(db: Session, later: readonly string[]): Promise<void> {
  await db.run(
    `UPDATE outbox SET state = 'dropped', reason = 'replaced by outbox/' || replaced.by,
       updated_at = replaced.at
     FROM (SELECT DISTINCT ON (old.id) old.id, new.id AS by, new.created_at AS at
       FROM outbox AS new JOIN outbox AS old ON old.project = new.project
         AND old.connection = new.connection AND old.kind = new.kind AND old.target = new.target
         AND old.key = new.key AND old.key <> '' AND old.position < new.position
       WHERE new.id = ANY(?) AND old.state = 'pending' AND old.tries = 0
       ORDER BY old.id, new.position) AS replaced
     WHERE outbox.id = replaced.id AND state = 'pending' AND tries = 0`, // unless it is claimed now
    later,
  );
}

/** Messages, in the order of the list. */
export async function listMessages(db: Session, query: MessageQuery): Promise<OutboxMessage[]> {
  const { clause, values } = messagesWanted(query);
  const rows = await db.all(
    `SELECT ${MESSAGE_COLUMNS} FROM outbox ${clause} ${ordered(query)} LIMIT ?`,
    ...values,
    query.limit,
  );
  return rows.map(toMessage);
}

/** Messages whose id starts with `prefix`, at most two. */
export async function findMessages(db: Session, prefix: string): Promise<OutboxMessage[]> {
  const rows = await db.all(
    `SELECT ${MESSAGE_COLUMNS} FROM outbox WHERE id >= ? AND id < ? ORDER BY id LIMIT 2`,
    prefix,
    prefixEnd(prefix),
  );
  return rows.map(toMessage);
}

/** Makes a message due now that was not sent. */
export function retryMessage(
  db: Session,
  id: string,
  how: Parameters<OutboxStore["retryMessage"]>[1],
): Promise<OutboxMessage | undefined> {
  return change(db, RETRY_MESSAGE, ...retryValues(how), id);
}

/** Drops a message that was not sent. */
export function dropMessage(
  db: Session,
  id: string,
  { reason, now }: { readonly reason: string; readonly now: number },
): Promise<OutboxMessage | undefined> {
  return change(db, DROP_MESSAGE, storable(reason), now, id);
}

/** Runs a statement that gives a message, if there is one. */
export async function change(
  db: Session,
  sql: string,
  ...values: readonly Value[]
): Promise<OutboxMessage | undefined> {
  const row = await db.get(sql, ...values);
  return row === undefined ? undefined : toMessage(row);
}

/** Number of messages that wait and that were given up. */
export async function outboxCounts(db: Session): Promise<OutboxCounts> {
  const row = await db.get(
    `SELECT count(*) FILTER (WHERE state = 'pending') AS pending,
       count(*) FILTER (WHERE state = 'failed') AS failed,
       min(created_at) FILTER (WHERE state = 'pending') AS oldest
     FROM outbox WHERE state IN ('pending', 'failed')`,
  ) ?? {};
  return {
    pending: number(row, "pending"),
    failed: number(row, "failed"),
    ...optionalNumber(row, "oldest", "oldestPendingAt"),
  };
}

/** Removes messages from before `before` that wait for nothing; returns how many. */
export function pruneOutbox(
  db: Session,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<number> {
  return db.run(
    `DELETE FROM outbox WHERE id IN (SELECT id FROM outbox
       WHERE state <> 'pending' AND updated_at < ? ORDER BY updated_at LIMIT ?
       FOR UPDATE SKIP LOCKED)`,
    before,
    limit,
  );
}
