/**
 * `POST /webhook/{project}/{trigger}` (spec 4.1, contract 3): the whole pipeline, top to bottom in
 * one function. Each stage takes what only the stage before it can make, so none can be left out.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import { AppError, toAppError } from "../base/errors.ts";
import type { NewId } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import { problemResponse } from "../http/problem.ts";
import { type BodyLimits, readBody } from "../http/read_body.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { Store } from "../store/store.ts";
import { admit, type AdmitHost, type Admitted } from "../tasks/admit.ts";
import type { ActiveTrigger, Triggers } from "../tasks/triggers.ts";
import { authenticate } from "./authenticate.ts";
import { type ParsedDelivery, parsePayload } from "./payload.ts";
import type { Rejections } from "./rejections.ts";
import { type ReceivedDelivery, Trail } from "./trail.ts";

/** What the webhook source needs. */
export interface WebhookHost extends AdmitHost {
  /** Finds triggers. */
  readonly triggers: Triggers;
  /** Holds SecretStores. */
  readonly catalog: Catalog;
  /** Keeps deliveries and tasks. */
  readonly store: Store;
  /** Keeps what was refused. */
  readonly rejections: Rejections;
  /** The time. */
  readonly clock: Clock;
  /** The daemon's log. */
  readonly log: Log;
  /** What a body may cost. */
  readonly limits: BodyLimits;
  /** Names requests. */
  readonly newId: NewId;
  /** Told after a task has been stored. */
  readonly onTask: () => void;
}

/** Which trigger a path names, and who asks. */
export interface WebhookTarget {
  /** Project in the path, or the default one. */
  readonly project: string;
  /** Trigger in the path. */
  readonly trigger: string;
  /** Address of the peer. */
  readonly remote: string;
}

/** Answers one request. Never throws; a status other than 200 means that no task exists. */
export async function receiveWebhook(
  request: Request,
  target: WebhookTarget,
  host: WebhookHost,
): Promise<Response> {
  const trail = new Trail({ id: host.newId(), clock: host.clock, remote: target.remote });
  try {
    const trigger = trail.trigger = host.triggers.named({ ...target, source: "webhook" });
    const delivery = await receive(request, trail, host);
    const sender = await authenticate(delivery, trigger, host);
    const parsed = parsePayload(sender);
    const admitted = await admit(toEvent(parsed, trigger), host);
    await record(parsed, admitted, host);
    return answer(parsed, admitted);
  } catch (error) {
    return refuse(toAppError(error), trail, host);
  }
}

async function receive(
  request: Request,
  trail: Trail,
  host: WebhookHost,
): Promise<ReceivedDelivery> {
  const body = await readBody(request, host.limits);
  trail.bodyBytes = body.length;
  return { body, headers: Object.fromEntries(request.headers), trail };
}

function toEvent({ delivery, payload }: ParsedDelivery, trigger: ActiveTrigger) {
  const { headers, trail, body } = delivery;
  return { trigger, payload, payloadBytes: body.length, headers, delivery: trail };
}

/** Delivery and task in one transaction; when this has returned, both are on disk. */
async function record(
  { delivery }: ParsedDelivery,
  admitted: Admitted,
  host: WebhookHost,
): Promise<void> {
  const { headers, body, trail } = delivery;
  const task = admitted.outcome === "accepted" ? admitted.task : undefined;
  const reason = admitted.outcome === "accepted" ? "" : admitted.reason;
  const end = { outcome: admitted.outcome, status: 200, reason, taskId: task?.id ?? "" };
  await host.store.recordDelivery({
    delivery: trail.toDelivery(end),
    content: { headers, body },
    ...(task === undefined ? {} : { task }),
  });
  if (task !== undefined) host.onTask();
}

function answer({ delivery: { trail } }: ParsedDelivery, admitted: Admitted): Response {
  const common = {
    status: admitted.outcome,
    trigger: trail.trigger?.resource.name,
    delivery_id: trail.id,
  };
  switch (admitted.outcome) {
    case "accepted":
      return Response.json({ ...common, task_id: admitted.task.id });
    case "filtered":
      return Response.json(common);
    case "skipped":
      return Response.json({ ...common, reason: admitted.reason });
  }
}

function refuse(error: AppError, trail: Trail, host: WebhookHost): Response {
  const facts = { request_id: trail.id, code: error.code, reason: error.reason || error.message };
  if (error.code === "internal") host.log.error("webhook failed", { ...facts, error });
  else host.log.debug("webhook refused", facts);
  if (trail.trigger !== undefined) {
    const end = { outcome: "rejected", status: error.status, reason: facts.reason } as const;
    host.rejections.add(trail.toDelivery(end));
  }
  return problemResponse(error, { requestId: trail.id });
}
