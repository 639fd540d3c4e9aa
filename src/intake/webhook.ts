/**
 * `POST /webhook/{project}/{endpoint}`: from a request to its answer, top to bottom in one function.
 * Each stage takes what only the stage before it can make, so none can be left out.
 *
 * @module
 */

import type { AskedBy } from "../base/asked_by.ts";
import type { Core } from "../base/core.ts";
import { defined } from "../base/defined.ts";
import { type AppError, toAppError, unauthorized } from "../base/errors.ts";
import type { BodyBudget, HeldBytes } from "../http/body_budget.ts";
import { problemResponse } from "../http/problem.ts";
import { type BodyLimits, readBody } from "../http/read_body.ts";
import type { EventOutcome } from "../store/delivery_records.ts";
import type { ActiveTrigger, Receivers, Triggers } from "./admission/triggers.ts";
import { decideForAll } from "./pipeline/decide_for_all.ts";
import type { KeyUses } from "./pipeline/key_uses.ts";
import {
  decide,
  type EventsDecision,
  type HandshakeDecision,
  type PipelineHost,
  SIGNED_REQUEST,
} from "./pipeline/pipeline.ts";
import type { Rejections } from "./pipeline/rejections.ts";
import type { UnknownPaths } from "./unknown_paths.ts";
import { DeliveryContext, type ReceivedDelivery } from "./pipeline/delivery_context.ts";
import type { DeliveryRecorder } from "../store/delivery_store.ts";
import { byCurrentResources, type CurrentResources } from "../store/stale_resources.ts";
import { answer, answerForAll, type TriggerResult } from "./webhook_answer.ts";

/** The state of the daemon that takes requests of webhooks. */
export interface WebhookHost extends PipelineHost, Core {
  readonly triggers: Triggers;
  readonly store: DeliveryRecorder;
  readonly rejections: Rejections;
  /** Keeps the paths of requests that find no trigger. */
  readonly unknownPaths: UnknownPaths;
  readonly keyUses: KeyUses;
  readonly resources: CurrentResources;
  readonly limits: BodyLimits;
  /** Memory that the bodies of all requests share. */
  readonly bodies: BodyBudget;
  /**
   * Visits a URL of a platform, which confirms a subscription there.
   *
   * @throws {AppError} `overloaded` if the visit fails.
   */
  readonly visit: (url: string) => Promise<void>;
}

/** A request as its path and headers describe it, before its body is read. */
export interface IncomingRequest {
  /** Project in the path, or the default one. */
  readonly project: string;
  /** Name in the path: of a trigger, or of the endpoint of several. */
  readonly trigger: string;
  /** Path as it was sent, without its query. */
  readonly path: string;
  readonly remote: string;
  /** Headers of the request, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Who had svc sign it; absent for what came from outside. */
  readonly by?: AskedBy;
}

/** Answers one request. Never throws; a status other than 200 means that no task exists. */
export async function receiveWebhook(
  request: Request,
  incoming: IncomingRequest,
  host: WebhookHost,
): Promise<Response> {
  const { remote } = incoming;
  const context = new DeliveryContext({ id: host.newId(), clock: host.clock, remote });
  context.by = incoming.by;
  const held = holdBody(incoming, host);
  let received: ReceivedDelivery | undefined;
  try {
    return await byCurrentResources(host.resources, async () => {
      const trigger = matchTriggers(host.triggers.at(incoming), context);
      received ??= await receive(request, { ...incoming, context, held }, host);
      if (context.others.length > 0) return await receiveForAll(received, incoming, host);
      const decision = await decide(received, trigger, SIGNED_REQUEST, host);
      if (decision.handshake !== undefined) return await answerHandshake(decision, host);
      const outcomes = await record(decision, host);
      return answer(context, outcomes);
    });
  } catch (error) {
    return refuseAndRecord(toAppError(error), { ...incoming, context, received }, host);
  } finally {
    held.release();
  }
}

/**
 * Puts the triggers of an address into the context, so that a refusal is recorded for each of them.
 *
 * @returns The trigger whose settings say how the request is checked and read.
 * @throws {AppError} `unauthorized` if their settings contradict each other.
 */
export function matchTriggers(
  { first, others, fault, resourceVersion }: Receivers,
  context: DeliveryContext,
): ActiveTrigger {
  context.trigger = first;
  context.others = others;
  context.resourceVersion = resourceVersion;
  if (fault !== undefined) throw unauthorized(fault);
  return first;
}

/** Decides on a request for several triggers, and answers it. */
async function receiveForAll(
  received: ReceivedDelivery,
  { trigger: endpoint }: IncomingRequest,
  host: WebhookHost,
): Promise<Response> {
  const { trigger } = received.context;
  if (trigger === undefined) throw new Error("A decision needs its trigger");
  const decision = await decideForAll(received, trigger, SIGNED_REQUEST, host);
  if (decision.handshake !== undefined) return await answerHandshake(decision, host);
  return answerForAll(endpoint, await recordForAll(received, decision.all, host));
}

/** The parts of the daemon that store a decision. */
type RecordHost = Pick<WebhookHost, "store" | "keyUses" | "triggers">;

/** Stores the deliveries of several triggers, and their tasks, in one transaction. */
export async function recordForAll(
  received: ReceivedDelivery,
  all: readonly EventsDecision[],
  host: RecordHost,
): Promise<readonly TriggerResult[]> {
  const { headers, body, url } = received;
  const contexts = all.map(({ parsed }) => parsed.delivery.context);
  for (const context of contexts) context.passed("decided");
  const outcomes = await host.store.recordDeliveries({
    content: { headers, body, url },
    deliveries: all.map(({ events }, index) => ({
      delivery: (contexts[index] ?? received.context).facts(),
      events,
    })),
    ...host.triggers.dedupTimesOf(received.context.trigger),
    ...defined({ resourceVersion: received.context.resourceVersion }),
  });
  for (const context of contexts) host.keyUses.add(context);
  return contexts.map((context, index) => ({ context, outcomes: outcomes[index] ?? [] }));
}

/** An account for the body, without memory yet: a body is read only for a trigger that exists. */
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
  context.cameWith(headers);
  const body = await readBody(request, { headers, limits: host.limits, held });
  context.bodyBytes = body.length;
  context.passed("received");
  return { method: request.method, body, headers, url: request.url, context };
}

/**
 * Records a handshake and answers it: it starts nothing, but operators want to see it. An unsigned
 * handshake may come from a stranger, so its record is bounded.
 */
export async function answerHandshake(
  { delivery, handshake }: HandshakeDecision,
  host: Pick<WebhookHost, "store" | "rejections" | "visit" | "newId">,
): Promise<Response> {
  const { headers, body, url, context } = delivery;
  const { status } = handshake;
  if (status === 200 && handshake.visit !== undefined) await host.visit(handshake.visit);
  await Promise.all(
    context.each(host.newId).map((own) => {
      const record = own.toDelivery({ outcome: "handshake", status, reason: "" });
      if (own.handshakeMethod === undefined) {
        return host.store.recordHandshake(record, { headers, body, url });
      }
      return host.rejections.add(record, { ...delivery, context: own });
    }),
  );
  if (status === 204) return new Response(null, { status });
  const answer = new Headers(handshake.headers ?? {});
  answer.set("content-type", handshake.type);
  answer.set("x-content-type-options", "nosniff");
  return new Response(handshake.body, { headers: answer });
}

/** Stores delivery and tasks in one transaction; they are on disk when the promise resolves. */
export async function record(
  { parsed, events }: EventsDecision,
  host: RecordHost,
): Promise<readonly EventOutcome[]> {
  const { headers, body, url, context } = parsed.delivery;
  context.passed("decided");
  const outcomes = await host.store.recordDelivery({
    delivery: context.facts(),
    content: { headers, body, url },
    events,
    ...host.triggers.dedupTimesOf(context.trigger),
    ...defined({ resourceVersion: context.resourceVersion }),
  });
  host.keyUses.add(context);
  return outcomes;
}

/** Answers a refusal with the facts that a stranger may know, and records the others for operators. */
export function refuseAndRecord(
  error: AppError,
  { context, received, path }: Pick<IncomingRequest, "path"> & {
    readonly context: DeliveryContext;
    readonly received: ReceivedDelivery | undefined;
  },
  host: WebhookHost,
): Response {
  const facts = { request_id: context.id, code: error.code, reason: error.reason || error.message };
  if (error.code === "internal") host.log.error("webhook failed", { ...facts, error });
  else host.log.debug("webhook refused", facts);
  if (context.trigger !== undefined) {
    const end = { outcome: "rejected", status: error.status, reason: facts.reason } as const;
    for (const own of context.each(host.newId)) {
      host.rejections.add(own.toDelivery(end), received && { ...received, context: own });
    }
  } else {
    host.unknownPaths.note({ method: "POST", path, remote: context.remote });
  }
  return problemResponse(error, { requestId: context.id });
}
