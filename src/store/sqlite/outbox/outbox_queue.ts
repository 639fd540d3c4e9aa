/**
 * The queue of the outbox: which messages are sent now, and what came of it.
 *
 * @module
 */

import { defined } from "../../../base/defined.ts";
import type {
  ClaimedMessage,
  MessageClaim,
  MessageDemand,
  MessageResult,
  OutboxMessage,
} from "../../outbox_records.ts";
import { claimOf, dueMessages } from "../../rules/outbox.ts";
import { number, storable, text } from "../../sql/columns.ts";
import type { Database } from "../engine/database.ts";
import type { Row, SqlValue } from "../../sql/row.ts";
import { MESSAGE_COLUMNS, MESSAGE_NOT_SENT, MESSAGE_SENT, toMessage } from "../../sql/outbox.ts";
import { change } from "./outbox_rows.ts";

/** Claims the messages that are due. */
export function claimMessages(
  db: Database,
  { limit, now, busy }: MessageDemand,
): MessageClaim {
  const lanes = new Set<string>();
  const messages: ClaimedMessage[] = [];
  for (const row of dueRows(db, { limit, now, busy })) {
    const lane = text(row, "lane");
    if (lanes.has(lane)) continue;
    lanes.add(lane);
    messages.push(claim(db, row, now));
  }
  const nextAt = nextDueAt(db, now);
  return { messages, ...defined({ nextAt }) };
}

/** Rows that are due and behind no other one of their target, oldest first. */
function dueRows(db: Database, { limit, now, busy }: MessageDemand): Row[] {
  const { until, beyond } = dueMessages(now);
  const due = (condition: string, at: number) =>
    db.all(
      `SELECT ${MESSAGE_COLUMNS}, lane, one.rowid AS position FROM outbox AS one INDEXED BY outbox_due
       WHERE state = 'pending' AND ${condition}
         AND lane NOT IN (SELECT value FROM json_each(?))
         AND NOT EXISTS (SELECT 1 FROM outbox AS other INDEXED BY outbox_pending
           WHERE other.state = 'pending' AND other.project = one.project
             AND other.connection = one.connection AND other.kind = one.kind
             AND other.target = one.target AND other.rowid < one.rowid)
       ORDER BY next_at, one.rowid LIMIT ?`,
      at,
      JSON.stringify(busy),
      limit,
    );
  return [...due("next_at <= ?", until), ...due("next_at > ?", beyond)];
}

/** Counts the try and notes that from now on the message may have arrived. */
function claim(db: Database, row: Row, now: number): ClaimedMessage {
  const before = toMessage(row);
  const message = change(
    db,
    `UPDATE outbox SET tries = tries + 1, first_tried_at = COALESCE(first_tried_at, ?1),
       uncertain_since = COALESCE(uncertain_since, ?1), updated_at = ?1
     WHERE id = ?2 RETURNING ${MESSAGE_COLUMNS}`,
    now,
    before.id,
  );
  if (message === undefined) throw new Error(`Message ${before.id} is gone while it is claimed`);
  return claimOf(message, {
    lane: text(row, "lane"),
    uncertainSince: before.uncertainSince,
    earlier: before.key === "" ? undefined : findEarlier(db, row),
  });
}

/** The last message of the same key that has arrived, or may have. */
function findEarlier(db: Database, row: Row): OutboxMessage | undefined {
  const values: SqlValue[] = ["project", "connection", "kind", "target", "key"]
    .map((column) => text(row, column));
  const found = db.get(
    `SELECT ${MESSAGE_COLUMNS} FROM outbox INDEXED BY outbox_of_key
     WHERE project = ? AND connection = ? AND kind = ? AND target = ? AND key = ? AND key <> '' AND rowid < ?
       AND state <> 'pending' AND (external_id <> '' OR uncertain_since IS NOT NULL)
     ORDER BY rowid DESC LIMIT 1`,
    ...values,
    number(row, "position"),
  );
  return found === undefined ? undefined : toMessage(found);
}

function nextDueAt(db: Database, now: number): number | undefined {
  const row = db.get(
    `SELECT next_at AS at FROM outbox INDEXED BY outbox_due
     WHERE state = 'pending' AND next_at > ? ORDER BY next_at LIMIT 1`,
    now,
  );
  return row === undefined ? undefined : number(row, "at");
}

/** Records what came of a try. */
export function finishMessage(
  db: Database,
  id: string,
  result: MessageResult,
  now: number,
): OutboxMessage | undefined {
  if (result.state === "sent") {
    return change(db, MESSAGE_SENT, storable(result.externalId), now, id);
  }
  return change(
    db,
    `${MESSAGE_NOT_SENT} RETURNING ${MESSAGE_COLUMNS}`,
    result.state,
    storable(result.reason),
    result.state === "pending" ? result.nextAt : 0,
    now,
    result.certain ? 1 : 0,
    id,
  );
}
