/**
 * `POST /source/slack/{project}/{trigger}`, top to bottom in one function: an
 * event is on disk before Slack gets its answer, and routed after it (`slack/router.ts`).
 *
 * @module
 */

import { sha256Hex } from "../base/bytes.ts";
import { AppError, toAppError } from "../base/errors.ts";
import type { RecordedSourceEvent, SourceEventFacts } from "../store/source_event_records.ts";
import type { ActiveTrigger } from "./admission/triggers.ts";
import { authenticateBy } from "./pipeline/authenticate.ts";
import { checkContentType, type ParsedDelivery, parsePayload } from "./pipeline/payload.ts";
import type { Handshake } from "../platforms/platform.ts";
import { slack } from "../platforms/slack.ts";
import { asksForChoices } from "./slack/interaction.ts";
import { normalise, type SlackEvent } from "./slack/normalise.ts";
import { DeliveryContext, type ReceivedDelivery } from "./pipeline/delivery_context.ts";
import {
  answerHandshake,
  holdBody,
  receive,
  refuse,
  type WebhookHost,
  type WebhookTarget,
} from "./webhook.ts";

/** What the Slack source needs. */
export interface SlackHost extends WebhookHost {
  /** Told after an event has been stored. */
  readonly onSourceEvent: () => void;
}

/** What deliveries that came here have as their source. */
const SOURCE = "slack";

/** Largest body; Slack's own are far smaller. */
const MAX_BODY_BYTES = 256 * 1024;

/**
 * Answers one request. Never throws; only a 200 means that the event is stored. Who cannot sign is
 * answered alike whether the trigger exists or not, after the same work.
 */
export async function receiveSlackEvent(
  request: Request,
  target: WebhookTarget,
  host: SlackHost,
): Promise<Response> {
  const context = new DeliveryContext({
    ...target,
    id: host.newId(),
    clock: host.clock,
    source: SOURCE,
    via: "chat",
  });
  const held = holdBody(target, host);
  let received: ReceivedDelivery | undefined;
  try {
    const trigger = context.trigger = findTrigger(target, host);
    const maxBytes = Math.min(host.limits.maxBytes, MAX_BODY_BYTES);
    const limits = { ...host.limits, maxBytes };
    const delivery = received = await receive(request, { ...target, context, held }, { limits });
    checkContentType(delivery.headers);
    const sender = await authenticateBy("slack", delivery, trigger, host);
    const parsed = parsePayload(sender);
    const handshake = findHandshake(parsed);
    if (handshake !== undefined) return await answerHandshake(parsed, handshake, host);
    const event = normalise(parsed.payload, context.receivedAt);
    return answer(parsed, event, await record(event, parsed, host));
  } catch (error) {
    return refuse(toAppError(error), { context, received }, host);
  } finally {
    held.release();
  }
}

/** Absent where there is none that can be used: then nothing authenticates. */
function findTrigger(target: WebhookTarget, host: SlackHost): ActiveTrigger | undefined {
  try {
    return host.triggers.named({ ...target, source: "webhook" });
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

/** The challenge, or the check of a certificate; neither is an event. */
function findHandshake({ payload }: ParsedDelivery): Handshake | undefined {
  if (payload["ssl_check"] === "1") return { status: 200, type: "text/plain", body: "" };
  return slack.handshake?.(payload);
}

/** Event and delivery in one transaction; when this has returned, they are on disk. */
async function record(
  event: SlackEvent,
  { delivery, json }: ParsedDelivery,
  host: SlackHost,
): Promise<RecordedSourceEvent> {
  const { headers, body, context } = delivery;
  context.passed("decided");
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
    ...(ignored === undefined ? {} : { ignored }),
    delivery: { ...rest, project, trigger },
    content: { headers, body },
    ...(json === undefined ? {} : { payload: json }),
  });
  host.keyUses.add(context);
  if (recorded.status === "accepted" && ignored === undefined) host.onSourceEvent();
  return recorded;
}

/** What Slack shows to the person who clicked or typed: nothing, and no choices in a menu. */
function answer(
  { payload }: ParsedDelivery,
  { kind }: SlackEvent,
  { status, id }: RecordedSourceEvent,
): Response {
  if (asksForChoices(payload)) return Response.json({ options: [] });
  if (kind === "command" || kind === "interaction") return new Response(null, { status: 200 });
  return Response.json({ status, source_event_id: id });
}
