/**
 * Decides on a Slack event: its route (`choose_route.ts`), and for a new task also admission, through
 * `admit` like every other event. An answer to an approval is given at once: the router may be killed
 * between it and the end of its event, and gives it again then, which changes nothing.
 *
 * @module
 */

import { findText } from "../../base/bytes.ts";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { eventId } from "../../base/ids.ts";
import { isJsonObject, type JsonObject, parseOwnJson } from "../../base/json.ts";
import { isAnswerClick } from "../../connections/slack/answer_button.ts";
import { COVERS_BODY } from "../../signatures/coverage.ts";
import type { Admitted } from "../../store/delivery_records.ts";
import type { ClaimedSourceEvent, Destination, Routing } from "../../store/source_event_records.ts";
import { admit, type AdmitHost } from "../admission/admit.ts";
import type { ActiveTrigger, Triggers } from "../admission/triggers.ts";
import { chooseRoute, type Route, STRAY } from "./choose_route.ts";
import { cut, objectOf, textOf } from "./fields.ts";
import { normalise } from "./normalise.ts";

/** Longest event type that a message has; Slack's types have some twenty characters. */
const MAX_TYPE = 100;

/** The parts of the daemon that admit events, and the triggers. */
export interface RoutingHost extends AdmitHost {
  readonly triggers: Triggers;
  /** Answers an approval by a click, once however often it is called. */
  readonly answerClick: AnswerClicked;
}

/**
 * What came of a click on a button of an approval.
 *
 * @throws {AppError} `overloaded`.
 */
export type AnswerClicked = (
  event: ClaimedSourceEvent["event"],
  payload: JsonObject,
) => Promise<{
  /** Empty if it is not known which task has asked. */
  readonly taskId: string;
  readonly reason: string;
}>;

/**
 * Decides on a claimed event.
 *
 * @throws {AppError} `not_found` if it would start a task and its trigger no longer exists;
 * `overloaded`.
 */
export async function decideRouting(
  claimed: ClaimedSourceEvent,
  host: RoutingHost,
): Promise<Routing> {
  const { event, bound, rootIsOpen } = claimed;
  const payload = payloadOf(claimed.payload);
  const { project, trigger: name } = event;
  const { resourceVersion } = host.triggers; // read before a decision uses the triggers
  const trigger = host.triggers.find({ project, trigger: name, source: "webhook" });
  // A running task gets its replies even if its trigger was deleted.
  const route = chooseRoute({
    event,
    rootIsOpen,
    content: normalise(payload, event.receivedAt),
    isAnswer: isAnswerClick(payload),
    hasFilter: trigger === undefined || trigger.filter !== undefined,
    ...defined({ bound }),
  });
  const destination = await destinationOf(
    route,
    { claimed, payload, trigger, resourceVersion },
    host,
  );
  return bound === undefined ? destination : { ...destination, boundTo: bound.id };
}

/** The facts for a decision. */
interface Facts {
  readonly claimed: ClaimedSourceEvent;
  readonly payload: JsonObject;
  readonly trigger: ActiveTrigger | undefined;
  readonly resourceVersion: number;
}

async function destinationOf(
  route: Route,
  facts: Facts,
  host: RoutingHost,
): Promise<Destination> {
  const { claimed: { event }, payload, trigger, resourceVersion } = facts;
  const common = { ...host.triggers.dedupTimesOf(trigger), resourceVersion };
  switch (route.to) {
    case "nowhere":
      return route;
    case "inbox":
      return { ...route, message: messageFrom(event, payload) };
    case "answer":
      return { ...route, ...await host.answerClick(event, payload) };
    case "follow-up": {
      const { parentId } = route;
      const decision = await decideTask(facts, { parentId, inBoundThread: true }, host);
      return { to: "task", decision, bind: true, ...common };
    }
    case "task": {
      const decision = await decideTask(facts, {}, host);
      const { bind } = route;
      const strays = bind && event.topLevel ? STRAY : undefined;
      return { to: "task", decision, bind, ...defined({ strays }), ...common };
    }
  }
}

async function decideTask(
  { claimed, payload, trigger }: Facts,
  more: { parentId?: string; inBoundThread?: boolean },
  host: RoutingHost,
): Promise<Admitted> {
  const { event, queuedAt, headers, payload: bytes, payloadIsBody } = claimed;
  if (trigger === undefined) {
    throw new AppError("not_found", `The webhook Trigger "${event.trigger}" no longer exists`);
  }
  const [decision] = await admit([{
    trigger,
    payload,
    headers,
    coverage: COVERS_BODY, // a signature or a socket of Slack vouches for it
    ...more,
    waits: true, // Slack was answered when the event was stored
    ...defined({ ownPayload: payloadIsBody ? undefined : bytes }),
    delivery: { id: event.deliveryId, receivedAt: event.receivedAt },
    taskId: eventId(queuedAt, `task of source event ${event.id}`),
  }], host);
  if (decision === undefined) throw new Error("An event without a decision");
  return decision;
}

function payloadOf(bytes: Uint8Array): JsonObject {
  const payload = parseOwnJson(findText(bytes) ?? "{}");
  return isJsonObject(payload) ? payload : {};
}

/** The message for the inbox of a task. */
function messageFrom(event: ClaimedSourceEvent["event"], payload: JsonObject): JsonObject {
  return {
    source_event_id: event.id,
    kind: event.kind,
    type: cut(textOf(objectOf(payload["event"])["type"]) || textOf(payload["type"]), MAX_TYPE),
    actor: event.actor,
    text: event.text,
    conversation_id: event.conversationId,
    thread_id: event.threadId,
    occurred_at: rfc3339(event.occurredAt),
  };
}
