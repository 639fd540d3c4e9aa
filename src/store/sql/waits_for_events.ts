/**
 * Waits by the events that they wait for, in both databases: whatever their number, an event costs
 * as many reads as the waits at its trigger have shapes.
 *
 * @module
 */

import type { JsonObject } from "../../base/json.ts";
import type {
  KeyedPart,
  WaitedTrigger,
  WaitKeys,
  WaitOfDelivery,
  WaitShape,
} from "../wait_records.ts";
import { json, number, text } from "./columns.ts";
import type { Row } from "./row.ts";
import type { SqlSession } from "./session.ts";
import { stepOf, toKey, toPlace, WAIT_COLUMNS } from "./waits.ts";

/** The condition of the index `waits_for_events`. */
const FOR_EVENTS = "state = 'open' AND event_trigger IS NOT NULL";

/** The condition of the index `waits_decided`. */
const DECIDED = "state = 'over' AND kind = 'approval' AND event_trigger IS NOT NULL";

/** The triggers whose events open waits wait for, or whose questions were decided since. */
export async function listWaitedTriggers(
  db: SqlSession,
  decidedSince: number,
): Promise<WaitedTrigger[]> {
  const rows = await db.all(
    `SELECT project, event_trigger, min(opened_at) AS since
       FROM waits ${db.dialect.indexedBy("waits_for_events")} WHERE ${FOR_EVENTS}
       GROUP BY project, event_trigger
     UNION ALL SELECT project, event_trigger, over_at
       FROM waits ${db.dialect.indexedBy("waits_decided")} WHERE ${DECIDED} AND over_at >= ?`,
    decidedSince,
  );
  const found = new Map<string, WaitedTrigger>();
  for (const row of rows) {
    const named = { project: text(row, "project"), trigger: text(row, "event_trigger") };
    const name = `${named.project}/${named.trigger}`;
    const since = Math.min(number(row, "since"), found.get(name)?.since ?? Infinity);
    found.set(name, { ...named, since });
  }
  return [...found.values()];
}

/** The shapes of the open waits at a trigger, each found by the one before: no other row is read. */
export async function listWaitShapes(
  db: SqlSession,
  project: string,
  trigger: string,
): Promise<WaitShape[]> {
  const at = `${FOR_EVENTS} AND project = ?1 AND event_trigger = ?2`;
  const rows = await db.all(
    `WITH RECURSIVE found (shape) AS (
       SELECT min(shape) FROM waits WHERE ${at} UNION ALL
       SELECT (SELECT min(waits.shape) FROM waits WHERE ${at} AND waits.shape > found.shape)
         FROM found WHERE found.shape IS NOT NULL)
     SELECT shape, (SELECT asked FROM waits WHERE ${at} AND waits.shape = found.shape LIMIT 1) AS asked
     FROM found WHERE shape IS NOT NULL`,
    project,
    trigger,
  );
  return rows.map((row) => ({
    shape: text(row, "shape"),
    asked: json(row, "asked") as JsonObject,
  }));
}

/** The open parts with one of these keys, then the decided questions. */
export async function findWaits(
  db: SqlSession,
  { project, trigger, keys, decidedSince }: WaitKeys,
): Promise<KeyedPart[]> {
  const found = async (condition: string, ...values: readonly number[]) => {
    const rows = [];
    for (const { shape, digest } of keys) {
      rows.push(
        ...await db.all(
          `SELECT ${WAIT_COLUMNS} FROM waits WHERE ${condition}
           AND project = ? AND event_trigger = ? AND shape = ? AND digest = ?`,
          ...values,
          project,
          trigger,
          shape,
          digest,
        ),
      );
    }
    return rows.map(toKeyedPart);
  };
  const open = await found(FOR_EVENTS);
  if (decidedSince === undefined) return open;
  const decided = await found(`${DECIDED} AND over_at >= ?`, decidedSince);
  return [...open, ...decided.map((part) => ({ ...part, isOver: true as const }))];
}

const toKeyedPart = (row: Row): KeyedPart => ({
  ...toPlace(row),
  part: number(row, "part"),
  project: text(row, "project"),
  key: toKey(row),
  asked: json(row, "asked") as JsonObject,
  openedAt: number(row, "opened_at"),
});

/** The waits that these deliveries ended, the first at the beginning. */
export async function listWaitsOfDeliveries(
  db: SqlSession,
  deliveryIds: readonly string[],
): Promise<WaitOfDelivery[]> {
  const rows = await db.all(
    `SELECT ${WAIT_COLUMNS}, waits.delivery_id, plans.plan FROM waits
     JOIN tasks ON tasks.id = waits.task_id JOIN plans ON plans.hash = tasks.plan_hash
     WHERE waits.delivery_id IN (SELECT value FROM json_each(?))`,
    JSON.stringify(deliveryIds),
  );
  return rows.map((row) => {
    const place = toPlace(row);
    return {
      ...place,
      deliveryId: text(row, "delivery_id"),
      step: stepOf(row, place),
      at: number(row, "over_at"),
    };
  }).toSorted((a, b) => a.at - b.at);
}

/** Ids of tasks that wait for a message, and got one at this time or later. */
export async function listFilledInboxes(db: SqlSession, since: number): Promise<string[]> {
  const rows = await db.all(
    `SELECT waits.task_id AS id FROM waits ${db.dialect.indexedBy("waits_open")}
     WHERE waits.state = 'open' AND waits.kind = 'message' AND EXISTS (SELECT 1 FROM inbox
       WHERE inbox.task_id = waits.task_id AND inbox.created_at >= ?)`,
    since,
  );
  return [...new Set(rows.map((row) => text(row, "id")))];
}
