/**
 * The queue of the outbox: which messages are sent now. A lane belongs to one
 * daemon from the moment it claims a message of it until it no longer names the lane as busy: so
 * what another system asks one daemon to wait for, all of them wait for.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import type { ClaimedMessage, MessageClaim, MessageDemand } from "../outbox_records.ts";
import { claimOf, dueMessages } from "../rules/outbox.ts";
import { optionalNumber, text } from "../sql/columns.ts";
import { nextMessageAt, toMessage } from "../sql/outbox.ts";
import type { Row } from "../sql/row.ts";
import type { Session } from "./database/connections.ts";
import { isGoneSql, isMineSql } from "./database/ownership.ts";

/** Claims the messages that are due; one daemon at a time. */
export async function claimMessages(
  db: Session,
  { limit, now, busy }: MessageDemand,
): Promise<MessageClaim> {
  await db.lock("outbox");
  await db.run(
    `DELETE FROM outbox_lanes
     WHERE ${isGoneSql("outbox_lanes")} OR ${isMineSql("outbox_lanes")} AND NOT lane = ANY(?)`,
    busy,
  );
  const messages = await claimDue(db, { limit, now, busy });
  const nextAt = await nextMessageAt(db, now);
  return { messages, ...defined({ nextAt }) };
}

/**
 * Claims the first due message of each free lane that is behind no other one of its target. Counts
 * the try, and notes that from now on the message may have arrived.
 */
async function claimDue(
  db: Session,
  { limit, now, busy }: MessageDemand,
): Promise<ClaimedMessage[]> {
  const { until, beyond } = dueMessages(now);
  const rows = await db.all(
    `WITH RECURSIVE lanes (lane) AS (${nextLane("")} UNION ALL
       SELECT (${nextLane("AND outbox.lane > lanes.lane")}) FROM lanes WHERE lane IS NOT NULL),
     first AS (SELECT due.* FROM lanes, LATERAL (
         SELECT id, lane, next_at, position, uncertain_since FROM outbox AS one
         WHERE one.lane = lanes.lane AND state = 'pending' AND (next_at <= ?1 OR next_at > ?2)
           AND ${IS_NEXT} ORDER BY next_at, position LIMIT 1) AS due
       WHERE NOT lanes.lane = ANY(?3)
         AND NOT EXISTS (SELECT 1 FROM outbox_lanes AS taken WHERE taken.lane = lanes.lane)
       ORDER BY next_at, position LIMIT ?4),
     taken AS (INSERT INTO outbox_lanes (lane, node, run) SELECT lane, ?5, ?6 FROM first),
     claimed AS (UPDATE outbox SET tries = tries + 1,
         first_tried_at = COALESCE(first_tried_at, ?7),
         uncertain_since = COALESCE(outbox.uncertain_since, ?7), updated_at = ?7
       FROM first WHERE outbox.id = first.id AND outbox.state = 'pending'
       RETURNING outbox.*, first.uncertain_since AS uncertain_before)
     SELECT claimed.*, earlier.id AS earlier, earlier.external_id AS earlier_external_id,
       earlier.uncertain_since AS earlier_uncertain_since
     FROM claimed LEFT JOIN LATERAL (${EARLIER}) AS earlier ON true
     ORDER BY claimed.next_at, claimed.position`,
    until,
    beyond,
    busy,
    limit,
    db.owner.node,
    db.owner.run,
    now,
  );
  return rows.map(toClaimed);
}

/** The lanes with messages are found one by the other: none of their other messages is read. */
const nextLane = (after: string) =>
  `SELECT min(outbox.lane) FROM outbox WHERE state = 'pending' ${after}`;

/**
 * Whether no earlier message waits for the same target. As `IS TRUE` it is asked message by message,
 * up to the first; PostgreSQL would else ask it of all that wait.
 */
const IS_NEXT = `(NOT EXISTS (SELECT 1 FROM outbox AS other
    WHERE other.state = 'pending' AND other.project = one.project
      AND other.connection = one.connection AND other.kind = one.kind
      AND other.target = one.target AND other.position < one.position)) IS TRUE`;

/** The last message of the same key that has arrived, or may have. */
const EARLIER = `SELECT id, external_id, uncertain_since FROM outbox
  WHERE project = claimed.project AND connection = claimed.connection AND kind = claimed.kind
    AND target = claimed.target AND key = claimed.key AND key <> ''
    AND position < claimed.position AND state <> 'pending'
    AND (external_id <> '' OR uncertain_since IS NOT NULL)
  ORDER BY position DESC LIMIT 1`;

function toClaimed(row: Row): ClaimedMessage {
  return claimOf(toMessage(row), {
    lane: text(row, "lane"),
    ...optionalNumber(row, "uncertain_before", "uncertainSince"),
    earlier: row["earlier"] === null ? undefined : {
      externalId: text(row, "earlier_external_id"),
      ...optionalNumber(row, "earlier_uncertain_since", "uncertainSince"),
    },
  });
}

/** Whether this daemon still has the lane of a message. */
export const LANE_IS_MINE = `EXISTS (SELECT 1 FROM outbox_lanes
  WHERE outbox_lanes.lane = outbox.lane AND ${isMineSql("outbox_lanes")})`;
