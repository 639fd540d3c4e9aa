/**
 * The table `source_events`: stores each event of a chat platform once, and reads it back. The
 * queue and the routing are in `source_event_queue.ts` and `source_event_routing.ts`.
 *
 * @module
 */

import { enqueue } from "../../rules/chat_queue.ts";
import { threadOf } from "../../rules/chat_routing.ts";
import { seenBefore } from "../../rules/event_outcome.ts";
import type {
  NewSourceEvent,
  RecordedSourceEvent,
  SourceEvent,
  SourceEventQuery,
} from "../../source_event_records.ts";
import { number, text } from "../../sql/columns.ts";
import { ordered, prefixEnd, where } from "../../sql/queries.ts";
import {
  EVENT_COLUMNS,
  eventConditions,
  eventValues,
  externalValues,
  INSERT_EVENT,
  OF_POST,
  postValues,
  SENT_BEFORE,
  toSourceEvent,
} from "../../sql/source_events.ts";
import type { Session, Value } from "../database/connections.ts";
import { listed, newestIds } from "../database/newest.ts";
import { storeDelivery } from "../../transactions/record_delivery.ts";
import { changeTasks } from "../working_set/change_tasks.ts";
import { isThreadBusy, lockOf } from "./source_event_queue.ts";

/** Stores an event with its delivery, unless the platform sent it before. */
export async function recordSourceEvent(
  db: Session,
  given: NewSourceEvent,
): Promise<RecordedSourceEvent> {
  const { event, delivery, content } = given;
  await db.lock(lockOf(event));
  const first = await db.get(
    `SELECT id, received_at FROM source_events WHERE ${SENT_BEFORE}`,
    ...externalValues(event),
  );
  const id = first === undefined ? event.id : text(first, "id");
  const outcome = first === undefined ? "accepted" : "duplicate";
  const named = `source event ${id}`;
  const reason = first === undefined
    ? named
    : seenBefore(named, { receivedAt: number(first, "received_at") }, delivery);
  const stored = { ...delivery, outcome, reason, taskId: "" } as const;
  await changeTasks(db, () => {}, (rows) => storeDelivery(rows, stored, content));
  if (first === undefined) await insert(db, given);
  return { status: outcome, id };
}

async function insert(db: Session, given: NewSourceEvent): Promise<void> {
  const { ignored, event: { kind } } = given;
  const event = kind === "reaction" ? await inThread(db, given.event) : given.event;
  const queued = enqueue({
    ignored: ignored !== undefined,
    isThreadBusy: ignored === undefined && await isThreadBusy(db, event),
  });
  await db.run(INSERT_EVENT, ...eventValues(event, given, queued));
}

async function inThread(
  db: Session,
  event: NewSourceEvent["event"],
): Promise<NewSourceEvent["event"]> {
  const post = await db.get(
    `SELECT thread_id FROM source_events WHERE ${OF_POST} LIMIT 1`,
    ...postValues(event, event.threadId),
  );
  const threadOfPost = post === undefined ? undefined : text(post, "thread_id");
  return { ...event, threadId: threadOf(event, threadOfPost) };
}

/** Events, in the order of the list. */
export async function listSourceEvents(
  db: Session,
  query: SourceEventQuery,
): Promise<SourceEvent[]> {
  if (query.ids !== undefined || (query.project ?? query.trigger) === undefined) {
    const { clause, values } = where(eventConditions(query));
    return await read(db, `${clause} ${ordered(query)} LIMIT ?`, [...values, query.limit]);
  }
  const conditions = eventConditions(query, listed("id"));
  const newest = newestIds({ table: "source_events", conditions }, query);
  return await read(db, `WHERE id IN (${newest.sql}) ${ordered(query)}`, newest.values);
}

async function read(
  db: Session,
  tail: string,
  values: readonly Value[],
): Promise<SourceEvent[]> {
  const rows = await db.all(`SELECT ${EVENT_COLUMNS} FROM source_events ${tail}`, ...values);
  return rows.map(toSourceEvent);
}

/** Events whose id starts with `prefix`, at most two. */
export function findSourceEvents(db: Session, prefix: string): Promise<SourceEvent[]> {
  return read(db, "WHERE id >= ? AND id < ? ORDER BY id LIMIT 2", [prefix, prefixEnd(prefix)]);
}

/** The event of a delivery; a repetition has none. */
export async function findEventOfDelivery(
  db: Session,
  deliveryId: string,
): Promise<SourceEvent | undefined> {
  return (await read(db, "WHERE delivery_id = ?", [deliveryId]))[0];
}
