/**
 * Claims chat events that are due for this daemon, and puts those back that no daemon routes.
 *
 * @module
 */

import { defined } from "../../../base/defined.ts";
import { dueTimes } from "../../rules/chat_queue.ts";
import type { SourceEventClaim, SourceEventDemand } from "../../source_event_records.ts";
import type { Row } from "../../sql/row.ts";
import { nextDueAt } from "../../sql/source_event_queue.ts";
import { readClaimed, toClaimed } from "../../sql/source_event_routing.ts";
import { GIVE_UP_CLAIM } from "../../sql/source_events.ts";
import type { Session } from "../database/connections.ts";
import { isGoneSql, isMineSql } from "../database/ownership.ts";

const READ_CLAIMED = readClaimed("claimed AS source_events");

/** Claims the oldest due events. */
export async function claimSourceEvents(
  db: Session,
  { limit, now, staleMs, routing, busy = [] }: SourceEventDemand,
): Promise<SourceEventClaim> {
  await requeueAbandoned(db, { staleBefore: now - staleMs, routing });
  const rows = await claimDue(db, { limit, now, busy });
  const nextAt = await nextDueAt(db, now, staleMs);
  return { events: rows.map(toClaimed), ...defined({ nextAt }) };
}

/**
 * Puts events back in the queue that no daemon routes any more: those claimed before `staleBefore`, and
 * where this daemon names those that it routes, its others and those of a daemon that is gone.
 */
async function requeueAbandoned(
  db: Session,
  { staleBefore, routing }: {
    readonly staleBefore: number;
    readonly routing: readonly string[] | undefined;
  },
): Promise<void> {
  await db.run(
    `${GIVE_UP_CLAIM} WHERE id IN (SELECT id FROM source_events
       WHERE state = 'routing' AND (claimed_at <= ?1 OR ?2::text[] IS NOT NULL AND
         (${isGoneSql("source_events")} OR ${isMineSql("source_events")} AND NOT id = ANY(?2)))
       FOR UPDATE SKIP LOCKED)`,
    staleBefore,
    routing ?? null,
  );
}

/** Claims and reads the oldest due events; those that another daemon is claiming are passed over. */
async function claimDue(
  db: Session,
  { limit, now, busy }: Required<Pick<SourceEventDemand, "limit" | "now" | "busy">>,
): Promise<Row[]> {
  const { until, beyond } = dueTimes(now);
  return await db.all(
    `WITH due AS (SELECT id FROM source_events
       WHERE state = 'received' AND behind = 0 AND (due_at <= ? OR due_at > ?)
         AND NOT project || '/' || "trigger" = ANY(?)
       ORDER BY due_at, id LIMIT ? FOR UPDATE SKIP LOCKED),
     claimed AS (UPDATE source_events SET state = 'routing', claimed_at = ?, node = ?, run = ?
       FROM due WHERE source_events.id = due.id RETURNING source_events.*)
     ${READ_CLAIMED}`,
    until,
    beyond,
    busy,
    limit,
    now,
    db.owner.node,
    db.owner.run,
  );
}
