/**
 * The table `source_events`, as both databases have it: its columns, and the statements that are the
 * same for both.
 *
 * @module
 */

import type {
  NewSourceEvent,
  SourceEvent,
  SourceEventFacts,
  SourceEventKind,
  SourceEventQuery,
  SourceEventState,
  ThreadKey,
} from "../source_event_records.ts";
import { DUE_NOW, type QueueState } from "../rules/chat_queue.ts";
import { number, storable, text } from "./columns.ts";
import { type Conditions, listRange } from "./queries.ts";
import type { Row, SqlValue } from "./row.ts";

/** Columns of a {@linkcode SourceEvent}, which other tables of a query may have as well. */
export const EVENT_COLUMNS = [
  ...["id", "project", '"trigger"', "provider", "installation_id", "external_event_id"],
  ...["delivery_id", "kind", "actor", "conversation_id", "thread_id", "post_id", "top_level"],
  ...["text", "occurred_at", "received_at", "state", "reason", "task_id", "attempts"],
].map((column) => `source_events.${column}`).join(", ");

/** Converts a row of these columns. */
export function toSourceEvent(row: Row): SourceEvent {
  return {
    id: text(row, "id"),
    ...toThread(row),
    provider: text(row, "provider"),
    externalEventId: text(row, "external_event_id"),
    deliveryId: text(row, "delivery_id"),
    kind: text(row, "kind") as SourceEventKind,
    actor: text(row, "actor"),
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

/** The thread of a row that has its columns. */
export function toThread(row: Row): ThreadKey {
  return {
    project: text(row, "project"),
    trigger: text(row, "trigger"),
    installationId: text(row, "installation_id"),
    conversationId: text(row, "conversation_id"),
    threadId: text(row, "thread_id"),
  };
}

/** Takes the values of {@linkcode threadValues}. */
export const OF_THREAD = `project = ? AND "trigger" = ? AND installation_id = ?
  AND conversation_id = ? AND thread_id = ?`;

/** The columns of a thread. */
export function threadValues(thread: ThreadKey): readonly string[] {
  return [
    thread.project,
    thread.trigger,
    storable(thread.installationId),
    storable(thread.conversationId),
    storable(thread.threadId),
  ];
}

/** The events of a thread that are not finished, in the order of an index. */
export const OPEN_IN_THREAD =
  `${OF_THREAD} AND thread_id <> '' AND state IN ('received', 'routing')`;

/** Events whose payload is kept, by themselves or as the body of their delivery. */
export const HAS_PAYLOAD = `(payload IS NOT NULL OR EXISTS (SELECT 1 FROM deliveries
  WHERE deliveries.id = source_events.delivery_id AND body IS NOT NULL))`;

/** The events about a post; takes the values of {@linkcode postValues}. */
export const OF_POST = `project = ? AND "trigger" = ? AND installation_id = ?
  AND conversation_id = ? AND post_id = ? AND post_id <> ''`;

/** The columns of a post in the conversation of an event. */
export function postValues(event: SourceEventFacts, postId: string): readonly string[] {
  return threadValues({ ...event, threadId: postId });
}

/** The event that the platform sent before; takes the values of {@linkcode externalValues}. */
export const SENT_BEFORE = `project = ? AND "trigger" = ? AND provider = ?
  AND installation_id = ? AND external_event_id = ?`;

/** The columns by which the platform names an event. */
export function externalValues(event: SourceEventFacts): readonly string[] {
  return [
    event.project,
    event.trigger,
    event.provider,
    storable(event.installationId),
    storable(event.externalEventId),
  ];
}

/** Takes the values of {@linkcode eventValues}. */
export const INSERT_EVENT = `INSERT INTO source_events (id, project, "trigger", provider,
    installation_id, external_event_id, delivery_id, kind, actor, conversation_id, thread_id,
    post_id, top_level, text, payload, occurred_at, received_at, state, reason, queued_at, due_at,
    behind)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** The values of a new event. */
export function eventValues(
  event: SourceEventFacts,
  { ignored = "", payload }: Pick<NewSourceEvent, "ignored" | "payload">,
  { state, behind }: QueueState,
): readonly SqlValue[] {
  return [
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
    storable(ignored),
    event.receivedAt,
    DUE_NOW,
    behind ? 1 : 0,
  ];
}

/** Takes the state, the reason, the task or an empty text, and the id. */
export const END_EVENT =
  "UPDATE source_events SET state = ?, reason = ?, task_id = ?, claimed_at = NULL WHERE id = ?";

/** Gives up the claim on events: they are due at once. */
export const GIVE_UP_CLAIM =
  `UPDATE source_events SET state = 'received', due_at = ${DUE_NOW}, claimed_at = NULL`;

/** Takes the state, the reason, the new due time or null, failures to add, and the id. */
export const POSTPONE_EVENT = `UPDATE source_events SET state = ?, reason = ?,
    due_at = COALESCE(?, due_at), attempts = attempts + ?, claimed_at = NULL
  WHERE id = ? AND state = 'routing'`;

/** The columns that {@linkcode toThread} takes. */
export const THREAD_COLUMNS = 'project, "trigger", installation_id, conversation_id, thread_id';

/** The conditions of a list of events. */
export function eventConditions(query: SourceEventQuery, id = "id"): Conditions {
  return Object.assign(
    {
      "project = ?": query.project,
      '"trigger" = ?': query.trigger,
      "state = ?": query.state,
      "thread_id = ?": query.thread,
    },
    listRange(query, "received_at", id),
  );
}
