/**
 * Routing of source events in the store (contract 8): hands over those whose turn it is, and carries out
 * what was decided on one, at most once and in one transaction.
 *
 * @module
 */

import type {
  BoundTask,
  ClaimedSourceEvent,
  Routed,
  Routing,
  SourceEvent,
  SourceEventClaim,
  SourceEventDemand,
  SourceEventState,
} from "../../source_event_records.ts";
import type { TaskState } from "../../task_records.ts";
import { bindThread, findBound } from "./binding_rows.ts";
import { bytes, json, number, storable, text } from "../engine/columns.ts";
import type { Database } from "../engine/database.ts";
import { recordEvent } from "../deliveries/event_rows.ts";
import { addToInbox } from "../tasks/inbox_rows.ts";
import {
  AT_ONCE,
  dueEvents,
  letNextIn,
  nextDueAt,
  putRepliesBack,
  takeBack,
} from "./source_event_queue.ts";
import { findEventOfPost, LISTED, toSourceEvent } from "./source_event_rows.ts";

/** Takes the oldest events that are due. */
export function claimSourceEvents(
  db: Database,
  { limit, now, staleMs, routing, busy = [] }: SourceEventDemand,
): SourceEventClaim {
  if (routing !== undefined) takeBack(db, routing);
  const without = JSON.stringify(busy);
  const ids = dueEvents(db, { limit, now, staleBefore: now - staleMs, without });
  for (const id of ids) {
    db.run(
      "UPDATE source_events SET state = 'routing', claimed_at = ?, node = ? WHERE id = ?",
      now,
      db.node,
      id,
    );
  }
  const nextAt = nextDueAt(db, now, staleMs);
  return {
    events: ids.map((id) => readClaimed(db, id)),
    ...(nextAt === undefined ? {} : { nextAt }),
  };
}

function readClaimed(db: Database, id: string): ClaimedSourceEvent {
  const row = db.get(
    `SELECT ${LISTED}, queued_at, source_events.payload IS NULL AS is_body,
       COALESCE(source_events.payload, deliveries.body) AS given,
       COALESCE(deliveries.headers, '{}') AS headers FROM source_events
     LEFT JOIN deliveries ON deliveries.id = source_events.delivery_id WHERE source_events.id = ?`,
    id,
  );
  if (row === undefined) throw new Error(`There is no source event ${id}`);
  const event = toSourceEvent(row);
  const bound = findBound(db, event);
  return {
    event,
    queuedAt: number(row, "queued_at"),
    payload: bytes(row, "given"),
    payloadIsBody: number(row, "is_body") === 1,
    headers: json(row, "headers") as Record<string, string>,
    ...(bound === undefined ? {} : { bound: boundTask(db, bound) }),
    rootIsOpen: isRootOpen(db, event),
  };
}

/** Whether the post that began the thread of a reply waits for a person. */
function isRootOpen(db: Database, event: SourceEvent): boolean {
  if (event.topLevel) return false;
  return (["failed", "needs_attention"] as const).some((state) =>
    findEventOfPost(db, event, event.threadId, state) !== undefined
  );
}

function boundTask(db: Database, id: string): BoundTask {
  const row = db.get("SELECT state FROM tasks WHERE id = ?", id);
  return { id, ...(row === undefined ? {} : { state: text(row, "state") as TaskState }) };
}

/** Carries out what was decided; an event that is no longer being routed stays as it is. */
export function routeSourceEvent(db: Database, id: string, routing: Routing, now: number): Routed {
  const row = db.get(`SELECT ${LISTED} FROM source_events WHERE id = ?`, id);
  const event = row === undefined ? undefined : toSourceEvent(row);
  if (event === undefined || event.state !== "routing") {
    return { state: event?.state ?? "failed" };
  }
  if (routing.to === "nowhere" && routing.state === "ignored") {
    return end(db, event, { state: "ignored", reason: routing.reason });
  }
  const twin = findEventOfPost(db, event, event.postId, "routed");
  if (twin !== undefined) {
    return end(db, event, { state: "ignored", reason: `the same post as source event ${twin.id}` });
  }
  if (findBound(db, event) !== routing.boundTo) return lookAgain(db, event);
  if (routing.to === "nowhere") return end(db, event, routing);
  if (routing.to === "inbox") {
    const message = addToInbox(db, routing.taskId, routing.message, now);
    if (message === undefined) return lookAgain(db, event); // the task has ended meanwhile
    const { taskId } = routing;
    return { ...end(db, event, { state: "routed", reason: "inbox", taskId }), message };
  }
  return start(db, event, { routing, now });
}

function end(
  db: Database,
  event: SourceEvent,
  { state, reason, taskId = "" }: { state: SourceEventState; reason: string; taskId?: string },
): Routed {
  db.run(
    "UPDATE source_events SET state = ?, reason = ?, task_id = ?, claimed_at = NULL WHERE id = ?",
    state,
    storable(reason),
    taskId,
    event.id,
  );
  letNextIn(db, event);
  return { state, ...(taskId === "" ? {} : { taskId }) };
}

/** What it was decided on has changed meanwhile. */
function lookAgain(db: Database, { id }: SourceEvent): Routed {
  db.run(
    "UPDATE source_events SET state = 'received', due_at = ?, claimed_at = NULL WHERE id = ?",
    AT_ONCE,
    id,
  );
  return { state: "received" };
}

function start(
  db: Database,
  event: SourceEvent,
  { routing, now }: { routing: Routing & { readonly to: "task" }; now: number },
): Routed {
  const { decision, dedupWindowMs } = routing;
  const delivery = { id: event.deliveryId, receivedAt: now };
  const { outcome, reason, taskId, replaces } = recordEvent(db, decision, {
    delivery,
    dedupWindowMs,
  });
  if (taskId === undefined || outcome !== "accepted") {
    const found = taskId === undefined ? {} : { taskId };
    return end(db, event, { state: "ignored", reason, ...found });
  }
  if (routing.bind && event.threadId !== "" && event.conversationId !== "") {
    bindThread(db, { ...event, taskId, updatedAt: now });
    const { strays } = routing;
    if (strays !== undefined) putRepliesBack(db, event, { reason: strays, now });
  }
  db.run("UPDATE deliveries SET task_id = ? WHERE id = ?", taskId, event.deliveryId);
  return {
    ...end(db, event, { state: "routed", reason, taskId }),
    started: true,
    ...(decision.outcome === "accepted" && decision.task.plan === undefined ? { ended: true } : {}),
    ...(replaces === undefined ? {} : { replaces }),
  };
}
