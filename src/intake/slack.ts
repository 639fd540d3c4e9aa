/**
 * `POST /source/slack/{project}/{trigger}`, top to bottom in one function: an event is on disk
 * before Slack is answered, and routed afterwards (`slack/router.ts`).
 *
 * @module
 */

import { sha256Hex } from "../base/bytes.ts";
import { defined } from "../base/defined.ts";
import { AppError, toAppError } from "../base/errors.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import type { RecordedSourceEvent, SourceEventFacts } from "../store/source_event_records.ts";
import type { ActiveTrigger } from "./admission/triggers.ts";
import { authenticateBy } from "./pipeline/authenticate_native.ts";
import { checkContentType, type ParsedDelivery } from "./pipeline/payload.ts";
import { type PipelineMode, read } from "./pipeline/pipeline.ts";
import type { Handshake } from "../platforms/platform.ts";
import { slack } from "../platforms/slack.ts";
import { asksForChoices } from "./slack/interaction.ts";
import { normalise, type SlackEvent } from "./slack/normalise.ts";
import { DeliveryContext, type ReceivedDelivery } from "./pipeline/delivery_context.ts";
import type { DeliveryRecorder } from "../store/delivery_store.ts";
import type { SourceEventRecorder } from "../store/source_event_store.ts";
import {
  answerHandshake,
  holdBody,
  type IncomingRequest,
  receive,
  refuseAndRecord,
  type WebhookHost,
} from "./webhook.ts";

/** The state of the daemon that takes events of Slack. */
export interface SlackHost extends WebhookHost {
  readonly store: DeliveryRecorder & SourceEventRecorder;
}

/** The `source` of deliveries of this endpoint. */
const SOURCE = "slack";

/** Largest body; Slack's own are far smaller. */
export const MAX_BODY_BYTES = 256 * 1024;

/**
 * Answers one request. Never throws; only a 200 means that the event is stored. A sender that
 * cannot sign gets the same answer whether the trigger exists or not, after the same work.
 */
export async function receiveSlackEvent(
  request: Request,
  incoming: IncomingRequest,
  host: SlackHost,
): Promise<Response> {
  const context = new DeliveryContext({
    ...incoming,
    id: host.newId(),
    clock: host.clock,
    source: SOURCE,
    via: "chat",
  });
  const held = holdBody(incoming, host);
  let received: ReceivedDelivery | undefined;
  try {
    const trigger = host.triggers.find({ ...incoming, source: "webhook" });
    context.trigger = trigger;
    const maxBytes = Math.min(host.limits.maxBytes, MAX_BODY_BYTES);
    const limits = { ...host.limits, maxBytes };
    received = await receive(request, { ...incoming, context, held }, { limits });
    checkContentType(received.headers, { webhook: false });
    const result = await read(received, trigger, SLACK_REQUEST, host);
    if (result.handshake !== undefined) return await answerHandshake(result, host);
    return answer(await storeEvent(result.parsed, host));
  } catch (error) {
    return refuseAndRecord(toAppError(error), { ...incoming, context, received }, host);
  } finally {
    held.release();
  }
}

/** A request to Slack's own endpoint: the scheme is fixed, and triggers need not name the platform. */
const SLACK_REQUEST: PipelineMode<ReceivedDelivery, ActiveTrigger | undefined> = {
  authenticate: (received, trigger, host) => authenticateBy("slack", received, trigger, host),
  findHandshake,
};

/** The payload as an object. */
function objectOf({ payload }: ParsedDelivery): JsonObject {
  if (isJsonObject(payload)) return payload;
  throw new AppError("invalid", "The body is not a JSON object");
}

/** The answer to a challenge or to the check of a certificate, which are no events. */
function findHandshake(parsed: ParsedDelivery): Handshake | undefined {
  const payload = objectOf(parsed);
  if (payload["ssl_check"] === "1") return { status: 200, type: "text/plain", body: "" };
  return slack.handshake?.(payload);
}

/** An event that was stored. */
export interface StoredEvent {
  readonly payload: JsonObject;
  readonly kind: SlackEvent["kind"];
  readonly recorded: RecordedSourceEvent;
}

/**
 * Stores event and delivery in one transaction; both are on disk when the promise resolves.
 *
 * @throws {AppError} `invalid` if the body is no object; `overloaded`.
 */
export async function storeEvent(
  parsed: ParsedDelivery,
  host: Pick<SlackHost, "store" | "keyUses" | "newId">,
): Promise<StoredEvent> {
  const { delivery, json } = parsed;
  const payload = objectOf(parsed);
  const { headers, body, url, context } = delivery;
  context.passed("decided");
  const event = normalise(payload, context.receivedAt);
  const { externalId, ignored, isMention: _mention, ...facts } = event;
  const { project, trigger, ...rest } = context.facts();
  const stored: SourceEventFacts = {
    id: host.newId(),
    project,
    trigger,
    provider: "slack",
    deliveryId: context.id,
    ...facts,
    externalEventId: externalId ?? `sha256:${sha256Hex(body)}`,
    receivedAt: context.receivedAt,
  };
  const recorded = await host.store.recordSourceEvent({
    event: stored,
    ...defined({ ignored }),
    delivery: { ...rest, project, trigger },
    content: { headers, body, url },
    ...defined({ payload: json }),
  });
  host.keyUses.add(context);
  return { payload, kind: event.kind, recorded };
}

/** The answer, which Slack shows to the person who clicked or typed: empty, and a menu without options. */
function answer({ payload, kind, recorded: { status, id } }: StoredEvent): Response {
  if (asksForChoices(payload)) return Response.json(NO_CHOICES);
  if (kind === "command" || kind === "interaction") return new Response(null, { status: 200 });
  return Response.json({ status, source_event_id: id });
}

/** The answer to a menu that asks for its options. */
export const NO_CHOICES = { options: [] };
