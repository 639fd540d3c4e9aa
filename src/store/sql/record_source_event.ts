/**
 * Stores each event of a chat platform once, in both databases.
 *
 * @module
 */

import { DUE_NOW, enqueue } from "../rules/chat_queue.ts";
import { threadOf } from "../rules/chat_routing.ts";
import { seenBefore } from "../rules/event_outcome.ts";
import type {
  NewSourceEvent,
  RecordedSourceEvent,
  SourceEventFacts,
} from "../source_event_records.ts";
import { storeDelivery } from "../transactions/record_delivery.ts";
import type { ChangeTasks } from "../transactions/task_rows.ts";
import { number, storable, text } from "./columns.ts";
import { insertion } from "./queries.ts";
import type { SqlSession } from "./session.ts";
import { isThreadBusy, lockOf } from "./source_event_queue.ts";

/** Stores an event with its delivery, unless the platform sent it before. */
export async function recordSourceEvent(
  db: SqlSession,
  changeTasks: ChangeTasks,
  given: NewSourceEvent,
): Promise<RecordedSourceEvent> {
  const { event, delivery, content } = given;
  await db.lock(lockOf(event));
  const first = await db.get(
    `SELECT id, received_at FROM source_events WHERE project = ? AND "trigger" = ?
       AND provider = ? AND installation_id = ? AND external_event_id = ?`,
    event.project,
    event.trigger,
    event.provider,
    storable(event.installationId),
    storable(event.externalEventId),
  );
  const id = first === undefined ? event.id : text(first, "id");
  const outcome = first === undefined ? "accepted" : "duplicate";
  const named = `source event ${id}`;
  const reason = first === undefined
    ? named
    : seenBefore(named, { receivedAt: number(first, "received_at") }, delivery);
  const stored = { ...delivery, outcome, reason, taskId: "" } as const;
  await changeTasks(() => {}, (rows) => storeDelivery(rows, stored, content));
  if (first === undefined) await insert(db, given);
  return { status: outcome, id };
}

async function insert(db: SqlSession, given: NewSourceEvent): Promise<void> {
  const { ignored, payload } = given;
  const event = await inThread(db, given.event);
  const { state, behind } = enqueue({
    ignored: ignored !== undefined,
    isThreadBusy: ignored === undefined && await isThreadBusy(db, event),
  });
  const { sql, values } = insertion("source_events", [{
    id: event.id,
    project: event.project,
    trigger: event.trigger,
    provider: event.provider,
    installation_id: storable(event.installationId),
    external_event_id: storable(event.externalEventId),
    delivery_id: event.deliveryId,
    kind: event.kind,
    actor: storable(event.actor),
    conversation_id: storable(event.conversationId),
    thread_id: storable(event.threadId),
    post_id: storable(event.postId),
    top_level: event.topLevel ? 1 : 0,
    text: storable(event.text),
    payload: payload ?? null,
    occurred_at: event.occurredAt,
    received_at: event.receivedAt,
    state,
    reason: storable(ignored ?? ""),
    queued_at: event.receivedAt,
    due_at: DUE_NOW,
    behind: behind ? 1 : 0,
  }]);
  await db.run(sql, ...values);
}

/** The event, a reaction in the thread of the post it is about. */
async function inThread(db: SqlSession, event: SourceEventFacts): Promise<SourceEventFacts> {
  if (event.kind !== "reaction") return event;
  const post = await db.get(
    `SELECT thread_id FROM source_events WHERE project = ? AND "trigger" = ?
       AND installation_id = ? AND conversation_id = ? AND post_id = ? AND post_id <> '' LIMIT 1`,
    event.project,
    event.trigger,
    storable(event.installationId),
    storable(event.conversationId),
    storable(event.threadId),
  );
  return { ...event, threadId: threadOf(event, post && text(post, "thread_id")) };
}
