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
  SourceEventKind,
  SourceEventQuery,
  SourceEventState,
} from "../../source_event_records.ts";
import { number, storable, text } from "../../sql/columns.ts";
import type { Database } from "../engine/database.ts";
import type { Row } from "../../sql/row.ts";
import { storeDelivery } from "../../transactions/record_delivery.ts";
import { deliveryRows } from "../deliveries/sqlite_delivery_rows.ts";
import { listRange, ordered, prefixEnd, where } from "../../sql/queries.ts";
import { ofEachProject } from "../engine/newest.ts";
import { DUE_NOW, enqueue } from "../../rules/chat_queue.ts";
import { threadOf } from "../../rules/chat_routing.ts";
import { isThreadBusy } from "./source_event_queue.ts";

/** Stores an event with its delivery, unless the platform sent it before. */
export function recordSourceEvent(db: Database, given: NewSourceEvent): RecordedSourceEvent {
  const { event, delivery, content } = given;
  const first = db.get(
    `SELECT id FROM source_events WHERE project = ? AND "trigger" = ? AND provider = ?
       AND installation_id = ? AND external_event_id = ?`,
    event.project,
    event.trigger,
    event.provider,
    storable(event.installationId),
    storable(event.externalEventId),
  );
  const id = first === undefined ? event.id : text(first, "id");
  const outcome = first === undefined ? "accepted" : "duplicate";
  const reason = first === undefined ? `source event ${id}` : `seen before, source event ${id}`;
  storeDelivery(deliveryRows(db), { ...delivery, outcome, reason, taskId: "" }, content);
  if (first === undefined) insert(db, given);
  return { status: outcome, id };
}

function insert(db: Database, given: NewSourceEvent): void {
  const { ignored, payload } = given;
  const event = inThread(db, given.event);
  const { state, behind } = enqueue({
    ignored: ignored !== undefined,
    isThreadBusy: isThreadBusy(db, event),
  });
  db.run(
    `INSERT INTO source_events (id, project, "trigger", provider, installation_id,
       external_event_id, delivery_id, kind, actor, conversation_id, thread_id, post_id, top_level,
       text, payload, occurred_at, received_at, state, reason, queued_at, due_at, behind)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    event.id,
    event.project,
    event.trigger,
    event.provider,
    storable(event.installationId),
    storable(event.externalEventId),
    event.deliveryId,
    event.kind,
    storable(event.actor),
    storable(event.conversationId),
    storable(event.threadId),
    storable(event.postId),
    event.topLevel ? 1 : 0,
    storable(event.text),
    payload ?? null,
    event.occurredAt,
    event.receivedAt,
    state,
    storable(ignored ?? ""),
    event.receivedAt,
    DUE_NOW,
    behind ? 1 : 0,
  );
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
  const { clause, values } = where(Object.assign(
    {
      "project = ?": query.project,
      '"trigger" = ?': query.trigger,
      "state = ?": query.state,
      "thread_id = ?": query.thread,
    },
    listRange(query, "received_at"),
  ));
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
  const place = [
    event.project,
    event.trigger,
    storable(event.installationId),
    storable(event.conversationId),
    storable(postId),
  ];
  const ofPost = `SELECT ${EVENT_COLUMNS} FROM source_events WHERE project = ? AND "trigger" = ?
    AND installation_id = ? AND conversation_id = ? AND post_id = ? AND post_id <> ''`;
  const row = state === undefined
    ? db.get(`${ofPost} LIMIT 1`, ...place)
    : db.get(`${ofPost} AND source_events.state = ? LIMIT 1`, ...place, state);
  return row === undefined ? undefined : toSourceEvent(row);
}

/** Columns of a {@linkcode SourceEvent}. */
export const EVENT_COLUMNS =
  `source_events.id, source_events.project, source_events."trigger", provider,
  installation_id, external_event_id, source_events.delivery_id, kind, actor, conversation_id,
  thread_id, post_id, top_level, text, occurred_at, source_events.received_at,
  source_events.state, source_events.reason, source_events.task_id, attempts`;

/** Converts a row of these columns. */
export function toSourceEvent(row: Row): SourceEvent {
  return {
    id: text(row, "id"),
    project: text(row, "project"),
    trigger: text(row, "trigger"),
    provider: text(row, "provider"),
    installationId: text(row, "installation_id"),
    externalEventId: text(row, "external_event_id"),
    deliveryId: text(row, "delivery_id"),
    kind: text(row, "kind") as SourceEventKind,
    actor: text(row, "actor"),
    conversationId: text(row, "conversation_id"),
    threadId: text(row, "thread_id"),
    postId: text(row, "post_id"),
    topLevel: number(row, "top_level") === 1,
    text: text(row, "text"),
    occurredAt: number(row, "occurred_at"),
    receivedAt: number(row, "received_at"),
    state: text(row, "state") as SourceEventState,
    reason: text(row, "reason"),
    taskId: text(row, "task_id"),
    attempts: number(row, "attempts"),
  };
}
