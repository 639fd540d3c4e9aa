/**
 * `POST /webhook/{project}/{trigger}`: from a request to its answer, top to bottom in one function.
 * Each stage takes what only the stage before it can make, so none can be left out.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import { type AppError, toAppError } from "../base/errors.ts";
import type { NewId } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { BodyBudget, HeldBytes } from "../http/body_budget.ts";
import { problemResponse } from "../http/problem.ts";
import { type BodyLimits, readBody } from "../http/read_body.ts";
import { bestOf, type EventOutcome, startedTasks } from "../store/delivery_records.ts";
import { DEDUP_WINDOW_MS } from "./admission/admit.ts";
import type { Triggers } from "./admission/triggers.ts";
import type { KeyUses } from "./pipeline/key_uses.ts";
import {
  decide,
  type EventsDecision,
  type HandshakeDecision,
  type PipelineHost,
  SIGNED,
} from "./pipeline/pipeline.ts";
import type { Rejections } from "./pipeline/rejections.ts";
import { DeliveryContext, type ReceivedDelivery } from "./pipeline/delivery_context.ts";
import type { DeliveryRecorder } from "../store/delivery_store.ts";

/** What the webhook source needs. */
export interface WebhookHost extends PipelineHost {
  /** Finds triggers. */
  readonly triggers: Triggers;
  /** Keeps deliveries and tasks. */
  readonly store: DeliveryRecorder;
  /** Keeps what was refused. */
  readonly rejections: Rejections;
  /** Counts which secrets match. */
  readonly keyUses: KeyUses;
  readonly clock: Clock;
  readonly log: Log;
  /** What a body may cost. */
  readonly limits: BodyLimits;
  /** What all bodies share that are under way. */
  readonly bodies: BodyBudget;
  readonly newId: NewId;
}

/** A request as its path and headers have it, before its body is read. */
export interface IncomingRequest {
  /** Project in the path, or the default one. */
  readonly project: string;
  /** Trigger in the path. */
  readonly trigger: string;
  /** Address of the peer. */
  readonly remote: string;
  /** Headers of the request, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Answers one request. Never throws; a status other than 200 means that no task exists. */
export async function receiveWebhook(
  request: Request,
  incoming: IncomingRequest,
  host: WebhookHost,
): Promise<Response> {
  const { remote } = incoming;
  const context = new DeliveryContext({ id: host.newId(), clock: host.clock, remote });
  const held = holdBody(incoming, host);
  let received: ReceivedDelivery | undefined;
  try {
    const trigger = host.triggers.named({ ...incoming, source: "webhook" });
    context.trigger = trigger;
    received = await receive(request, { ...incoming, context, held }, host);
    const decision = await decide(received, trigger, SIGNED, host);
    if (decision.handshake !== undefined) return await answerHandshake(decision, host);
    const outcomes = await record(decision, host);
    return answer(context, outcomes);
  } catch (error) {
    return refuseAndRecord(toAppError(error), { context, received }, host);
  } finally {
    held.release();
  }
}

/** Holds nothing yet: a body is read for a trigger that exists only. */
export function holdBody(
  { project, trigger }: IncomingRequest,
  { bodies }: Pick<WebhookHost, "bodies">,
): HeldBytes {
  return bodies.hold(`${project}/${trigger}`);
}

/** The exact bytes and headers of a request. */
export async function receive(
  request: Request,
  { headers, context, held }: Pick<ReceivedDelivery, "headers" | "context"> & { held: HeldBytes },
  host: Pick<WebhookHost, "limits">,
): Promise<ReceivedDelivery> {
  context.headerNames = Object.keys(headers);
  const body = await readBody(request, host.limits, held);
  context.bodyBytes = body.length;
  context.passed("received");
  return { body, headers, url: request.url, context };
}

/** A handshake starts nothing, but an operator wants to see that it came. */
export async function answerHandshake(
  { parsed, handshake }: HandshakeDecision,
  host: WebhookHost,
): Promise<Response> {
  const { headers, body, url, context } = parsed.delivery;
  const { status } = handshake;
  const record = context.toDelivery({ outcome: "handshake", status, reason: "" });
  await host.store.recordHandshake(record, { headers, body, url });
  if (status === 204) return new Response(null, { status });
  return new Response(handshake.body, { headers: { "content-type": handshake.type } });
}

/** Delivery and tasks in one transaction; when this has returned, they are on disk. */
export async function record(
  { parsed, events }: EventsDecision,
  host: Pick<WebhookHost, "store" | "keyUses">,
): Promise<readonly EventOutcome[]> {
  const { headers, body, url, context } = parsed.delivery;
  context.passed("decided");
  const outcomes = await host.store.recordDelivery({
    delivery: context.facts(),
    content: { headers, body, url },
    events,
    dedupWindowMs: DEDUP_WINDOW_MS,
  });
  host.keyUses.add(context);
  return outcomes;
}

function answer(context: DeliveryContext, outcomes: readonly EventOutcome[]): Response {
  const trigger = context.trigger?.resource.name;
  const best = bestOf(outcomes);
  const status = best?.outcome ?? "filtered";
  if (status === "duplicate") {
    const first = { delivery_id: best?.duplicateOf, task_id: best?.taskId };
    return Response.json({ status, trigger, ...first });
  }
  const told = { status, trigger, delivery_id: context.id };
  if (status === "skipped") return Response.json({ ...told, reason: best?.reason });
  if (status === "filtered") return Response.json(told);
  const all = outcomes.length > 1 ? { task_ids: startedTasks(outcomes) } : {};
  return Response.json({ ...told, task_id: best?.taskId, ...all });
}

/** Answers a refusal with what a stranger may know, and keeps the rest for the operator. */
export function refuseAndRecord(
  error: AppError,
  { context, received }: { context: DeliveryContext; received: ReceivedDelivery | undefined },
  host: WebhookHost,
): Response {
  const facts = { request_id: context.id, code: error.code, reason: error.reason || error.message };
  if (error.code === "internal") host.log.error("webhook failed", { ...facts, error });
  else host.log.debug("webhook refused", facts);
  if (context.trigger !== undefined) {
    const end = { outcome: "rejected", status: error.status, reason: facts.reason } as const;
    host.rejections.add(context.toDelivery(end), received);
  }
  return problemResponse(error, { requestId: context.id });
}
