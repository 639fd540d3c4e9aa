/**
 * Claims chat events that are due, and puts those back that no node routes.
 *
 * @module
 */

import { defined } from "../../../base/defined.ts";
import { dueTimes } from "../../rules/chat_queue.ts";
import { isAbandoned } from "../../rules/ownership.ts";
import type { SourceEventClaim, SourceEventDemand } from "../../source_event_records.ts";
import { text } from "../../sql/columns.ts";
import type { SqlValue } from "../../sql/row.ts";
import { nextDueAt } from "../../sql/source_event_queue.ts";
import { readClaimed, toClaimed } from "../../sql/source_event_routing.ts";
import { GIVE_UP_CLAIM } from "../../sql/source_events.ts";
import type { Database } from "../engine/database.ts";

const READ_CLAIMED = readClaimed("(SELECT * FROM source_events WHERE id = ?) AS source_events");

/** Claims the oldest due events. */
export async function claimSourceEvents(
  db: Database,
  { limit, now, staleMs, routing, busy = [] }: SourceEventDemand,
): Promise<SourceEventClaim> {
  if (routing !== undefined) requeueAbandoned(db, routing);
  const ids = dueEvents(db, { limit, now, staleMs, busy });
  for (const id of ids) {
    db.run(
      "UPDATE source_events SET state = 'routing', claimed_at = ?, node = ? WHERE id = ?",
      now,
      db.node,
      id,
    );
  }
  const events = ids.flatMap((id) => db.all(READ_CLAIMED, id).map(toClaimed));
  const nextAt = await nextDueAt(db, now, staleMs);
  return { events, ...defined({ nextAt }) };
}

/** Ids of the oldest due events, before them those whose claim is older than `staleMs`. */
function dueEvents(
  db: Database,
  { limit, now, staleMs, busy }: SourceEventDemand & { readonly busy: readonly string[] },
): string[] {
  const { until, beyond } = dueTimes(now);
  const due = (condition: string, ...values: SqlValue[]) =>
    db.all(
      `SELECT id FROM source_events INDEXED BY source_events_due
       WHERE state = 'received' AND behind = 0 AND ${condition}
         AND project || '/' || "trigger" NOT IN (SELECT value FROM json_each(?))
       ORDER BY due_at, id LIMIT ?`,
      ...values,
      JSON.stringify(busy),
      limit,
    );
  const stale = db.all(
    `SELECT id FROM source_events INDEXED BY source_events_claimed
     WHERE state = 'routing' AND claimed_at <= ? ORDER BY claimed_at LIMIT ?`,
    now - staleMs,
    limit,
  );
  return [...stale, ...due("due_at <= ?", until), ...due("due_at > ?", beyond)]
    .slice(0, limit)
    .map((row) => text(row, "id"));
}

/**
 * Puts events back in the queue that no node routes any more; `routing` are those that this node
 * routes.
 */
function requeueAbandoned(db: Database, routing: readonly string[]): void {
  const claimed = db.all(
    `SELECT id, node FROM source_events INDEXED BY source_events_claimed
     WHERE state = 'routing' AND claimed_at >= 0`,
  ).map((row) => ({ id: text(row, "id"), node: text(row, "node") }));
  for (const claim of claimed) {
    if (!isAbandoned(claim, { self: db.node, routing })) continue;
    db.run(`${GIVE_UP_CLAIM} WHERE id = ?`, claim.id);
  }
}
