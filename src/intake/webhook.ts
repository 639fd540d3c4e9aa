/**
 * `POST /webhook/{project}/{trigger}` (spec 4.1, contract 3): the whole pipeline, top to bottom in
 * one function. Each stage takes what only the stage before it can make, so none can be left out.
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
import type { Admitted, EventOutcome } from "../store/delivery_records.ts";
import type { Store } from "../store/store.ts";
import { admit, type AdmitHost, DEDUP_WINDOW_MS } from "./admission/admit.ts";
import type { Triggers } from "./admission/triggers.ts";
import { authenticate } from "./pipeline/authenticate.ts";
import type { KeyUses } from "./pipeline/key_uses.ts";
import { type ParsedDelivery, parsePayload } from "./pipeline/payload.ts";
import type { Handshake } from "../platforms/platform.ts";
import type { Rejections } from "./pipeline/rejections.ts";
import { DeliveryContext, type ReceivedDelivery } from "./pipeline/delivery_context.ts";
import { transform, type TransformHost } from "./pipeline/transform.ts";
import { findHandshake, toEvents } from "./pipeline/webhook_events.ts";

/** What the webhook source needs. */
export interface WebhookHost extends AdmitHost, TransformHost {
  /** Finds triggers. */
  readonly triggers: Triggers;
  /** Keeps deliveries and tasks. */
  readonly store: Store;
  /** Keeps what was refused. */
  readonly rejections: Rejections;
  /** Counts which secrets match. */
  readonly keyUses: KeyUses;
  /** The time. */
  readonly clock: Clock;
  /** The daemon's log. */
  readonly log: Log;
  /** What a body may cost. */
  readonly limits: BodyLimits;
  /** What all bodies share that are under way. */
  readonly bodies: BodyBudget;
  /** Names requests. */
  readonly newId: NewId;
  /** Told after a task has been stored, with those that run and have to end for it. */
  readonly onTask: (replaced?: readonly string[]) => void;
}

/** Which trigger a path names, who asks, and with which headers. */
export interface WebhookTarget {
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
  target: WebhookTarget,
  host: WebhookHost,
): Promise<Response> {
  const context = new DeliveryContext({
    id: host.newId(),
    clock: host.clock,
    remote: target.remote,
  });
  const held = holdBody(target, host);
  let received: ReceivedDelivery | undefined;
  try {
    const trigger = context.trigger = host.triggers.named({ ...target, source: "webhook" });
    const delivery = received = await receive(request, { ...target, context, held }, host);
    const sender = await authenticate(delivery, trigger, host);
    const parsed = parsePayload(sender);
    const handshake = findHandshake(parsed, trigger);
    if (handshake !== undefined) return await answerHandshake(parsed, handshake, host);
    const events = await transform(toEvents(parsed, trigger), parsed, host);
    const admitted = await admit(events, host);
    const outcomes = await record(parsed, admitted, host);
    return answer(context, outcomes);
  } catch (error) {
    return refuse(toAppError(error), { context, received }, host);
  } finally {
    held.release();
  }
}

/** Nothing yet: only who has a trigger gets as far as a body. */
export function holdBody(
  { project, trigger }: WebhookTarget,
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
  { delivery: { headers, body, context } }: ParsedDelivery,
  handshake: Handshake,
  host: WebhookHost,
): Promise<Response> {
  const { status } = handshake;
  const record = context.toDelivery({ outcome: "handshake", status, reason: "" });
  await host.store.recordHandshake(record, { headers, body });
  if (status === 204) return new Response(null, { status });
  return new Response(handshake.body, { headers: { "content-type": handshake.type } });
}

/** Delivery and tasks in one transaction; when this has returned, they are on disk. */
export async function record(
  { delivery: { headers, body, context } }: ParsedDelivery,
  events: readonly Admitted[],
  host: Pick<WebhookHost, "store" | "keyUses" | "onTask">,
): Promise<readonly EventOutcome[]> {
  context.passed("decided");
  const outcomes = await host.store.recordDelivery({
    delivery: context.facts(),
    content: { headers, body },
    events,
    dedupWindowMs: DEDUP_WINDOW_MS,
  });
  host.keyUses.add(context);
  if (outcomes.some(({ outcome }) => outcome === "accepted")) {
    host.onTask(outcomes.flatMap(({ replaces = [] }) => replaces));
  }
  return outcomes;
}

function answer(context: DeliveryContext, outcomes: readonly EventOutcome[]): Response {
  const trigger = context.trigger?.resource.name;
  const of = (outcome: EventOutcome["outcome"]) =>
    outcomes.filter((one) => one.outcome === outcome);
  const [started] = of("accepted");
  const [seen] = of("duplicate");
  const [skipped] = of("skipped");
  if (started !== undefined) {
    const ids = { delivery_id: context.id, task_id: started.taskId };
    const tasks = new Set(of("accepted").map(({ taskId }) => taskId)); // joined ones share theirs
    const all = outcomes.length > 1 ? { task_ids: [...tasks] } : {};
    return Response.json({ status: "accepted", trigger, ...ids, ...all });
  }
  if (seen !== undefined) {
    const first = { delivery_id: seen.duplicateOf, task_id: seen.taskId };
    return Response.json({ status: "duplicate", trigger, ...first });
  }
  if (skipped !== undefined && of("filtered").length === 0) {
    const { reason } = skipped;
    return Response.json({ status: "skipped", trigger, delivery_id: context.id, reason });
  }
  return Response.json({ status: "filtered", trigger, delivery_id: context.id });
}

/** Answers a refusal with what a stranger may know, and keeps the rest for the operator. */
export function refuse(
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
