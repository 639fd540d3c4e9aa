/**
 * Routing of chat events in the store: claims the events that are due, and carries out the decision
 * on each, at most once and in one transaction. `rules/chat_routing.ts` decides whether the facts
 * behind the decision have changed.
 *
 * @module
 */

import { defined } from "../../../base/defined.ts";
import { endOfStart, OPEN_ROOT, recheckRouting } from "../../rules/chat_routing.ts";
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
import { bytes, json, number, storable, text } from "../../sql/columns.ts";
import type { Row } from "../../sql/row.ts";
import { END_EVENT, EVENT_COLUMNS, GIVE_UP_CLAIM, toSourceEvent } from "../../sql/source_events.ts";
import type { TaskState } from "../../task_records.ts";
import { recordEvent } from "../../transactions/record_event.ts";
import type { Session } from "../database/connections.ts";
import { isMineSql } from "../database/ownership.ts";
import { addToInbox } from "../tasks/inbox_rows.ts";
import { changeTasks } from "../working_set/change_tasks.ts";
import { bindThread, JOIN_BOUND } from "./binding_rows.ts";
import {
  claimDue,
  lockEvent,
  nextDueAt,
  promoteNext,
  putRepliesBack,
  requeueAbandoned,
} from "./source_event_queue.ts";

/** Claims the oldest due events. */
export async function claimSourceEvents(
  db: Session,
  { limit, now, staleMs, routing, busy = [] }: SourceEventDemand,
): Promise<SourceEventClaim> {
  await requeueAbandoned(db, { staleBefore: now - staleMs, routing });
  const rows = await claimDue(db, { limit, now, busy }, READ_CLAIMED);
  const nextAt = await nextDueAt(db, now, staleMs);
  return { events: rows.map(toClaimed), ...defined({ nextAt }) };
}

/** An event about a post of the same conversation as `source_events`. */
const IN_CONVERSATION = `other.project = source_events.project
  AND other."trigger" = source_events."trigger"
  AND other.installation_id = source_events.installation_id
  AND other.conversation_id = source_events.conversation_id AND other.post_id <> ''`;

/** All that a router is told of the events that were claimed. */
const READ_CLAIMED = `SELECT ${EVENT_COLUMNS}, queued_at,
    (source_events.payload IS NULL)::int AS is_body,
    COALESCE(source_events.payload, deliveries.body) AS given,
    COALESCE(deliveries.headers, '{}') AS headers,
    bindings.task_id AS bound, tasks.state AS bound_state,
    (source_events.top_level = 0 AND EXISTS (SELECT 1 FROM source_events AS other
      WHERE ${IN_CONVERSATION} AND other.post_id = source_events.thread_id
        AND other.state IN (${OPEN_ROOT.map((state) => `'${state}'`).join(", ")})))::int
      AS root_is_open
  FROM claimed AS source_events
  LEFT JOIN deliveries ON deliveries.id = source_events.delivery_id ${JOIN_BOUND}
  ORDER BY due_at, source_events.id`;

function toClaimed(row: Row): ClaimedSourceEvent {
  return {
    event: toSourceEvent(row),
    queuedAt: number(row, "queued_at"),
    payload: bytes(row, "given"),
    payloadIsBody: number(row, "is_body") === 1,
    headers: json(row, "headers") as Record<string, string>,
    ...boundTask(row),
    rootIsOpen: number(row, "root_is_open") === 1,
  };
}

/** `{bound}` where the thread is bound to a task, else an empty object. */
function boundTask(row: Row): { bound?: BoundTask } {
  if (row["bound"] === null) return {};
  const state = row["bound_state"] === null ? {} : { state: text(row, "bound_state") as TaskState };
  return { bound: { id: text(row, "bound"), ...state } };
}

/**
 * Carries out a decision on a claimed event, if it is still valid, and no other daemon routes the
 * event by now.
 */
export async function routeSourceEvent(
  db: Session,
  id: string,
  routing: Routing,
  now: number,
): Promise<Routed> {
  const row = await lockEvent(db, id) ? await findFacts(db, id) : undefined;
  if (row === undefined) return { state: "failed" };
  const event = toSourceEvent(row);
  if (number(row, "is_mine") === 0) return { state: event.state };
  const action = recheckRouting(routing, {
    state: event.state,
    ...(row["same_post"] === null ? {} : { samePost: text(row, "same_post") }),
    ...boundTask(row),
  });
  switch (action.do) {
    case "nothing":
      return { state: action.state };
    case "decide again":
      return await decideAgain(db, event);
    case "end":
      return await end(db, event, action);
    case "deliver":
      return await deliver(db, event, { to: action.to, now });
    case "start":
      return await start(db, event, { to: action.to, now });
  }
}

function findFacts(db: Session, id: string): Promise<Row | undefined> {
  return db.get(
    `SELECT ${EVENT_COLUMNS}, ${isMineSql("source_events")}::int AS is_mine,
       bindings.task_id AS bound, tasks.state AS bound_state,
       (SELECT other.id FROM source_events AS other
         WHERE ${IN_CONVERSATION} AND other.post_id = source_events.post_id
           AND other.state = 'routed' LIMIT 1) AS same_post
     FROM source_events ${JOIN_BOUND} WHERE source_events.id = ?`,
    id,
  );
}

async function end(
  db: Session,
  event: SourceEvent,
  { state, reason, taskId = "" }: { state: SourceEventState; reason: string; taskId?: string },
): Promise<Routed> {
  await db.run(END_EVENT, state, storable(reason), taskId, event.id);
  await promoteNext(db, event);
  return { state, ...(taskId === "" ? {} : { taskId }) };
}

async function decideAgain(db: Session, { id }: SourceEvent): Promise<Routed> {
  await db.run(`${GIVE_UP_CLAIM} WHERE id = ?`, id);
  return { state: "received" };
}

async function deliver(
  db: Session,
  event: SourceEvent,
  { to: { taskId, message }, now }: { to: Destination & { to: "inbox" }; now: number },
): Promise<Routed> {
  const added = await addToInbox(db, taskId, message, now);
  if (added === undefined) return await decideAgain(db, event); // it has ended at this moment
  const ended = await end(db, event, { state: "routed", reason: "inbox", taskId });
  return { ...ended, message: added };
}

async function start(
  db: Session,
  event: SourceEvent,
  { to, now }: { to: Destination & { to: "task" }; now: number },
): Promise<Routed> {
  const { decision, bind, strays, dedupWindowMs, dedupKeepMs, resourceVersion } = to;
  const delivery = { id: event.deliveryId, receivedAt: now };
  const admitted = await changeTasks(
    db,
    (wanted) => {
      if (resourceVersion !== undefined) wanted.addResourceVersion();
      if (decision.outcome === "accepted") wanted.addNew(decision.task);
    },
    (rows) => {
      rows.checkResources(resourceVersion);
      return recordEvent(rows, decision, { delivery, dedupWindowMs, dedupKeepMs });
    },
  );
  const { reason, taskId, replaces } = admitted;
  const { state, started, binds } = endOfStart(admitted, { bind, event });
  if (!started || taskId === undefined) {
    return await end(db, event, { state, reason, ...defined({ taskId }) });
  }
  if (binds) {
    await bindThread(db, { ...event, taskId, updatedAt: now });
    if (strays !== undefined) await putRepliesBack(db, event, { reason: strays, now });
  }
  await db.run("UPDATE deliveries SET task_id = ? WHERE id = ?", taskId, event.deliveryId);
  return {
    ...await end(db, event, { state, reason, taskId }),
    started: true,
    ...(decision.outcome === "accepted" && decision.task.plan === undefined ? { ended: true } : {}),
    ...defined({ replaces }),
  };
}
