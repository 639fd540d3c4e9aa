/**
 * Routing of chat events in the store: claims the events that are due, and carries out the decision
 * on each, at most once and in one transaction. `rules/chat_routing.ts` decides whether the facts
 * behind the decision have changed.
 *
 * @module
 */

import { defined } from "../../../base/defined.ts";
import type {
  BoundTask,
  ClaimedSourceEvent,
  Destination,
  Routed,
  Routing,
  SourceEvent,
  SourceEventClaim,
  SourceEventDemand,
  SourceEventState,
} from "../../source_event_records.ts";
import type { TaskState } from "../../task_records.ts";
import { endOfStart, OPEN_ROOT, recheckRouting } from "../../rules/chat_routing.ts";
import { bindThread, findBound } from "./binding_rows.ts";
import { bytes, json, number, storable, text } from "../../sql/columns.ts";
import { END_EVENT, EVENT_COLUMNS, GIVE_UP_CLAIM, toSourceEvent } from "../../sql/source_events.ts";
import type { Database } from "../engine/database.ts";
import { recordEvent } from "../../transactions/record_event.ts";
import { deliveryRows } from "../deliveries/sqlite_delivery_rows.ts";
import { addToInbox } from "../tasks/inbox_rows.ts";
import {
  dueEvents,
  nextDueAt,
  promoteNext,
  putRepliesBack,
  requeueAbandoned,
} from "./source_event_queue.ts";
import { findEventOfPost } from "./source_event_rows.ts";

/** Claims the oldest due events. */
export function claimSourceEvents(
  db: Database,
  { limit, now, staleMs, routing, busy = [] }: SourceEventDemand,
): SourceEventClaim {
  if (routing !== undefined) requeueAbandoned(db, routing);
  const ids = dueEvents(db, { limit, now, staleBefore: now - staleMs, busy });
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
    ...defined({ nextAt }),
  };
}

function readClaimed(db: Database, id: string): ClaimedSourceEvent {
  const row = db.get(
    `SELECT ${EVENT_COLUMNS}, queued_at, source_events.payload IS NULL AS is_body,
       COALESCE(source_events.payload, deliveries.body) AS given,
       COALESCE(deliveries.headers, '{}') AS headers FROM source_events
     LEFT JOIN deliveries ON deliveries.id = source_events.delivery_id WHERE source_events.id = ?`,
    id,
  );
  if (row === undefined) throw new Error(`There is no source event ${id}`);
  const event = toSourceEvent(row);
  return {
    event,
    queuedAt: number(row, "queued_at"),
    payload: bytes(row, "given"),
    payloadIsBody: number(row, "is_body") === 1,
    headers: json(row, "headers") as Record<string, string>,
    ...boundTask(db, event),
    rootIsOpen: isRootOpen(db, event),
  };
}

/** Whether the post that began the thread of a reply waits for an operator. */
function isRootOpen(db: Database, event: SourceEvent): boolean {
  if (event.topLevel) return false;
  return OPEN_ROOT.some((state) => findEventOfPost(db, event, event.threadId, state) !== undefined);
}

/** `{bound}` where the thread is bound to a task, else an empty object. */
function boundTask(db: Database, event: SourceEvent): { bound?: BoundTask } {
  const id = findBound(db, event);
  if (id === undefined) return {};
  const row = db.get("SELECT state FROM tasks WHERE id = ?", id);
  return {
    bound: { id, ...(row === undefined ? {} : { state: text(row, "state") as TaskState }) },
  };
}

/** Carries out a decision on a claimed event, if it is still valid. */
export function routeSourceEvent(db: Database, id: string, routing: Routing, now: number): Routed {
  const row = db.get(`SELECT ${EVENT_COLUMNS} FROM source_events WHERE id = ?`, id);
  if (row === undefined) return { state: "failed" };
  const event = toSourceEvent(row);
  const samePost = findEventOfPost(db, event, event.postId, "routed");
  const action = recheckRouting(routing, {
    state: event.state,
    ...defined({ samePost: samePost?.id }),
    ...boundTask(db, event),
  });
  switch (action.do) {
    case "nothing":
      return { state: action.state };
    case "decide again":
      return decideAgain(db, event);
    case "end":
      return end(db, event, action);
    case "deliver":
      return deliver(db, event, { to: action.to, now });
    case "start":
      return start(db, event, { to: action.to, now });
  }
}

function end(
  db: Database,
  event: SourceEvent,
  { state, reason, taskId = "" }: { state: SourceEventState; reason: string; taskId?: string },
): Routed {
  db.run(END_EVENT, state, storable(reason), taskId, event.id);
  promoteNext(db, event);
  return { state, ...(taskId === "" ? {} : { taskId }) };
}

function decideAgain(db: Database, { id }: SourceEvent): Routed {
  db.run(`${GIVE_UP_CLAIM} WHERE id = ?`, id);
  return { state: "received" };
}

function deliver(
  db: Database,
  event: SourceEvent,
  { to: { taskId, message }, now }: { to: Destination & { to: "inbox" }; now: number },
): Routed {
  const added = addToInbox(db, taskId, message, now);
  if (added === undefined) throw new Error(`Task ${taskId} takes no message, although it is open`);
  return { ...end(db, event, { state: "routed", reason: "inbox", taskId }), message: added };
}

function start(
  db: Database,
  event: SourceEvent,
  { to, now }: { to: Destination & { to: "task" }; now: number },
): Routed {
  const { decision, bind, strays, dedupWindowMs, dedupKeepMs } = to;
  const delivery = { id: event.deliveryId, receivedAt: now };
  const admitted = recordEvent(deliveryRows(db), decision, {
    delivery,
    dedupWindowMs,
    dedupKeepMs,
  });
  const { reason, taskId, replaces } = admitted;
  const { state, started, binds } = endOfStart(admitted, { bind, event });
  const ended = () => end(db, event, { state, reason, ...defined({ taskId }) });
  if (!started || taskId === undefined) return ended();
  if (binds) {
    bindThread(db, { ...event, taskId, updatedAt: now });
    if (strays !== undefined) putRepliesBack(db, event, { reason: strays, now });
  }
  db.run("UPDATE deliveries SET task_id = ? WHERE id = ?", taskId, event.deliveryId);
  return {
    ...ended(),
    started: true,
    ...(decision.outcome === "accepted" && decision.task.plan === undefined ? { ended: true } : {}),
    ...defined({ replaces }),
  };
}
