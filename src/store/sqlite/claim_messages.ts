/**
 * The queue of the outbox: which messages are sent now.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import type {
  ClaimedMessage,
  MessageClaim,
  MessageDemand,
  OutboxMessage,
} from "../outbox_records.ts";
import { claimOf, dueMessages } from "../rules/outbox.ts";
import { number, text } from "../sql/columns.ts";
import type { Database } from "./engine/database.ts";
import type { Row, SqlValue } from "../sql/row.ts";
import { MESSAGE_COLUMNS, nextMessageAt, toMessage } from "../sql/outbox.ts";

/** Claims the messages that are due. */
export async function claimMessages(
  db: Database,
  { limit, now, busy }: MessageDemand,
): Promise<MessageClaim> {
  const lanes = new Set<string>();
  const messages: ClaimedMessage[] = [];
  for (const row of dueRows(db, { limit, now, busy })) {
    const lane = text(row, "lane");
    if (lanes.has(lane)) continue;
    lanes.add(lane);
    messages.push(claim(db, row, now));
  }
  const nextAt = await nextMessageAt(db, now);
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
  const claimed = db.returning(
    `UPDATE outbox SET tries = tries + 1, first_tried_at = COALESCE(first_tried_at, ?1),
       uncertain_since = COALESCE(uncertain_since, ?1), updated_at = ?1
     WHERE id = ?2 RETURNING ${MESSAGE_COLUMNS}`,
    now,
    before.id,
  );
  if (claimed === undefined) throw new Error(`Message ${before.id} is gone while it is claimed`);
  return claimOf(toMessage(claimed), {
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
