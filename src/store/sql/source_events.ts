/**
 * The table `source_events`, in both databases: stores each event of a chat platform once, and reads
 * it back. The queue and the routing are in `source_event_queue.ts` and `source_event_routing.ts`,
 * the lists in the folder of each database.
 *
 * @module
 */

import type {
  SourceEvent,
  SourceEventKind,
  SourceEventQuery,
  SourceEventState,
  ThreadKey,
} from "../source_event_records.ts";
import { DUE_NOW } from "../rules/chat_queue.ts";
import { number, storable, text } from "./columns.ts";
import { type Conditions, listRange, prefixEnd } from "./queries.ts";
import type { Row } from "./row.ts";
import type { SqlSession } from "./session.ts";

/** Columns of a {@linkcode SourceEvent}, which other tables of a query may have as well. */
export const EVENT_COLUMNS = [
  "id",
  "project",
  '"trigger"',
  "provider",
  "installation_id",
  "external_event_id",
  "delivery_id",
  "kind",
  "actor",
  "conversation_id",
  "thread_id",
  "post_id",
  "top_level",
  "text",
  "occurred_at",
  "received_at",
  "state",
  "reason",
  "task_id",
  "attempts",
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

/** Events whose payload is kept, by themselves or as the body of their delivery. */
export const HAS_PAYLOAD = `(payload IS NOT NULL OR EXISTS (SELECT 1 FROM deliveries
  WHERE deliveries.id = source_events.delivery_id AND body IS NOT NULL))`;

/** An event about a post of the same conversation as `source_events`, where it is about one. */
export const IN_CONVERSATION = `other.project = source_events.project
  AND other."trigger" = source_events."trigger"
  AND other.installation_id = source_events.installation_id
  AND other.conversation_id = source_events.conversation_id AND other.post_id <> ''`;

/** Assignments that give up the claim on events, which are then due at once. */
export const GIVE_UP_CLAIM =
  `UPDATE source_events SET state = 'received', due_at = ${DUE_NOW}, claimed_at = NULL`;

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

/** The event of a delivery; a repetition has none. */
export async function findEventOfDelivery(
  db: SqlSession,
  deliveryId: string,
): Promise<SourceEvent | undefined> {
  const row = await db.get(
    `SELECT ${EVENT_COLUMNS} FROM source_events WHERE delivery_id = ?`,
    deliveryId,
  );
  return row && toSourceEvent(row);
}

/** Events whose id starts with `prefix`, at most two. */
export async function findSourceEvents(db: SqlSession, prefix: string): Promise<SourceEvent[]> {
  const rows = await db.all(
    `SELECT ${EVENT_COLUMNS} FROM source_events WHERE id >= ? AND id < ? ORDER BY id LIMIT 2`,
    prefix,
    prefixEnd(prefix),
  );
  return rows.map(toSourceEvent);
}
