/**
 * Routing of chat events in the store, in both databases: reads the events that a router has
 * claimed, and carries out the decision on each, at most once and in one transaction.
 * `rules/chat_routing.ts` decides whether the facts behind the decision have changed.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { endOfStart, OPEN_ROOT, recheckRouting } from "../rules/chat_routing.ts";
import type {
  BoundTask,
  ClaimedSourceEvent,
  Destination,
  Routing,
  RoutingResult,
  SourceEvent,
  SourceEventState,
} from "../source_event_records.ts";
import type { TaskState } from "../task_records.ts";
import { recordEvent } from "../transactions/record_event.ts";
import type { ChangeTasks } from "../transactions/task_rows.ts";
import { bindThread, JOIN_BOUND } from "./bindings.ts";
import { bytes, json, number, storable, text } from "./columns.ts";
import { addToInbox } from "./inbox.ts";
import type { Row } from "./row.ts";
import type { SqlSession } from "./session.ts";
import { lockEvent, promoteNext, putRepliesBack } from "./source_event_queue.ts";
import { EVENT_COLUMNS, GIVE_UP_CLAIM, IN_CONVERSATION, toSourceEvent } from "./source_events.ts";

/** Reads the events that `from` gives, with the columns that {@linkcode toClaimed} takes. */
export const readClaimed = (from: string): string =>
  `SELECT ${EVENT_COLUMNS}, queued_at,
    CASE WHEN source_events.payload IS NULL THEN 1 ELSE 0 END AS is_body,
    COALESCE(source_events.payload, deliveries.body) AS given,
    COALESCE(deliveries.headers, '{}') AS headers,
    bindings.task_id AS bound, tasks.state AS bound_state,
    CASE WHEN source_events.top_level = 0 AND EXISTS (SELECT 1 FROM source_events AS other
      WHERE ${IN_CONVERSATION} AND other.post_id = source_events.thread_id
        AND other.state IN (${OPEN_ROOT.map((state) => `'${state}'`).join(", ")}))
      THEN 1 ELSE 0 END AS root_is_open
  FROM ${from}
  LEFT JOIN deliveries ON deliveries.id = source_events.delivery_id ${JOIN_BOUND}
  ORDER BY due_at, source_events.id`;

/** A claimed event of a row of {@linkcode readClaimed}. */
export function toClaimed(row: Row): ClaimedSourceEvent {
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

/** Returns `{bound}` if the thread is bound to a task, else an empty object to spread. */
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
  db: SqlSession,
  changeTasks: ChangeTasks,
  id: string,
  routing: Routing,
  now: number,
): Promise<RoutingResult> {
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
      return await start(db, changeTasks, event, { to: action.to, now });
  }
}

async function findFacts(db: SqlSession, id: string): Promise<Row | undefined> {
  return await db.get(
    `SELECT ${EVENT_COLUMNS},
       CASE WHEN ${db.dialect.isMine("source_events")} THEN 1 ELSE 0 END AS is_mine,
       bindings.task_id AS bound, tasks.state AS bound_state,
       (SELECT other.id FROM source_events AS other
         WHERE ${IN_CONVERSATION} AND other.post_id = source_events.post_id
           AND other.state = 'routed' LIMIT 1) AS same_post
     FROM source_events ${JOIN_BOUND} WHERE source_events.id = ?`,
    id,
  );
}

async function end(
  db: SqlSession,
  event: SourceEvent,
  { state, reason, taskId = "" }: { state: SourceEventState; reason: string; taskId?: string },
): Promise<RoutingResult> {
  await db.run(
    "UPDATE source_events SET state = ?, reason = ?, task_id = ?, claimed_at = NULL WHERE id = ?",
    state,
    storable(reason),
    taskId,
    event.id,
  );
  await promoteNext(db, event);
  return { state, ...(taskId === "" ? {} : { taskId }) };
}

async function decideAgain(db: SqlSession, { id }: SourceEvent): Promise<RoutingResult> {
  await db.run(`${GIVE_UP_CLAIM} WHERE id = ?`, id);
  return { state: "received" };
}

async function deliver(
  db: SqlSession,
  event: SourceEvent,
  { to: { taskId, message }, now }: { to: Destination & { to: "inbox" }; now: number },
): Promise<RoutingResult> {
  const added = await addToInbox(db, taskId, message, now);
  if (added === undefined) return await decideAgain(db, event); // the task has ended at this moment
  const ended = await end(db, event, { state: "routed", reason: "inbox", taskId });
  return { ...ended, message: added };
}

async function start(
  db: SqlSession,
  changeTasks: ChangeTasks,
  event: SourceEvent,
  { to, now }: { to: Destination & { to: "task" }; now: number },
): Promise<RoutingResult> {
  const { decision, bind, strays, dedupWindowMs, dedupKeepMs, resourceVersion } = to;
  const delivery = { id: event.deliveryId, receivedAt: now };
  const admitted = await changeTasks(
    (facts) => {
      if (resourceVersion !== undefined) facts.addResourceVersion();
      if (decision.outcome === "accepted") facts.addNew(decision.task);
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
