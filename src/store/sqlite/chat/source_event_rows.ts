/**
 * The table `source_events`: stores each event of a chat platform once, and reads it back. The
 * queue and the routing are in `source_event_queue.ts` and `source_event_routing.ts`.
 *
 * @module
 */

import type {
  NewSourceEvent,
  RecordedSourceEvent,
  SourceEvent,
  SourceEventFacts,
  SourceEventQuery,
  SourceEventState,
} from "../../source_event_records.ts";
import { number, text } from "../../sql/columns.ts";
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
import type { Database } from "../engine/database.ts";
import { storeDelivery } from "../../transactions/record_delivery.ts";
import { deliveryRows } from "../deliveries/sqlite_delivery_rows.ts";
import { ordered, prefixEnd, where } from "../../sql/queries.ts";
import { ofEachProject } from "../engine/newest.ts";
import { enqueue } from "../../rules/chat_queue.ts";
import { threadOf } from "../../rules/chat_routing.ts";
import { seenBefore } from "../../rules/event_outcome.ts";
import { isThreadBusy } from "./source_event_queue.ts";

/** Stores an event with its delivery, unless the platform sent it before. */
export function recordSourceEvent(db: Database, given: NewSourceEvent): RecordedSourceEvent {
  const { event, delivery, content } = given;
  const first = db.get(
    `SELECT id, received_at FROM source_events WHERE ${SENT_BEFORE}`,
    ...externalValues(event),
  );
  const id = first === undefined ? event.id : text(first, "id");
  const outcome = first === undefined ? "accepted" : "duplicate";
  const named = `source event ${id}`;
  const reason = first === undefined
    ? named
    : seenBefore(named, { receivedAt: number(first, "received_at") }, delivery);
  storeDelivery(deliveryRows(db), { ...delivery, outcome, reason, taskId: "" }, content);
  if (first === undefined) insert(db, given);
  return { status: outcome, id };
}

function insert(db: Database, given: NewSourceEvent): void {
  const event = inThread(db, given.event);
  const queued = enqueue({
    ignored: given.ignored !== undefined,
    isThreadBusy: isThreadBusy(db, event),
  });
  db.run(INSERT_EVENT, ...eventValues(event, given, queued));
}

function inThread(db: Database, event: SourceEventFacts): SourceEventFacts {
  if (event.kind !== "reaction") return event;
  const post = findEventOfPost(db, event, event.threadId);
  return { ...event, threadId: threadOf(event, post?.threadId) };
}

/** Events, in the order of the list. */
export function listSourceEvents(db: Database, query: SourceEventQuery): SourceEvent[] {
  if (query.project === undefined && query.trigger !== undefined) {
    return ofEachProject(db, "source_events", query, listSourceEvents);
  }
  const { clause, values } = where(eventConditions(query));
  return db.all(
    `SELECT ${EVENT_COLUMNS} FROM source_events ${indexFor(query)} ${clause} ${ordered(query)}
     LIMIT ?`,
    ...values,
    query.limit,
  ).map(toSourceEvent);
}

/**
 * The index that has the rows of a query in order; the rare states have few enough rows to read
 * them all.
 */
function indexFor({ project, trigger, state }: SourceEventQuery): string {
  if (state !== undefined && state !== "routed" && state !== "ignored") {
    return "INDEXED BY source_events_by_state";
  }
  if (trigger !== undefined) return "INDEXED BY source_events_of_trigger";
  if (state !== undefined) return "INDEXED BY source_events_by_state";
  return project === undefined ? "" : "INDEXED BY source_events_of_project";
}

/** Events whose id starts with `prefix`, at most two. */
export function findSourceEvents(db: Database, prefix: string): SourceEvent[] {
  return db.all(
    `SELECT ${EVENT_COLUMNS} FROM source_events WHERE id >= ? AND id < ? ORDER BY id LIMIT 2`,
    prefix,
    prefixEnd(prefix),
  ).map(toSourceEvent);
}

/** The event of a delivery; a repetition has none. */
export function findEventOfDelivery(db: Database, deliveryId: string): SourceEvent | undefined {
  const row = db.get(
    `SELECT ${EVENT_COLUMNS} FROM source_events WHERE delivery_id = ?`,
    deliveryId,
  );
  return row === undefined ? undefined : toSourceEvent(row);
}

/** An event about a post of the same conversation, in a state if one is given. */
export function findEventOfPost(
  db: Database,
  event: SourceEventFacts,
  postId: string,
  state?: SourceEventState,
): SourceEvent | undefined {
  if (postId === "") return undefined;
  const place = postValues(event, postId);
  const ofPost = `SELECT ${EVENT_COLUMNS} FROM source_events WHERE ${OF_POST}`;
  const row = state === undefined
    ? db.get(`${ofPost} LIMIT 1`, ...place)
    : db.get(`${ofPost} AND source_events.state = ? LIMIT 1`, ...place, state);
  return row === undefined ? undefined : toSourceEvent(row);
}
