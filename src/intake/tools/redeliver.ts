/**
 * Sends a stored delivery through the pipeline again, for `svc delivery redeliver`. Its sender counts
 * as authenticated if it was on arrival, and it is no duplicate of earlier events; everything else is
 * decided again.
 *
 * @module
 */

import type { AskedBy } from "../../base/asked_by.ts";
import { AppError } from "../../base/errors.ts";
import { isJsonObject } from "../../base/json.ts";
import {
  bestOf,
  type Delivery,
  startedTasks,
  type StoredDelivery,
} from "../../store/delivery_records.ts";
import type { DeliveryRecorder } from "../../store/delivery_store.ts";
import type { SourceEventStore } from "../../store/source_event_store.ts";
import type { Triggers } from "../admission/triggers.ts";
import { DeliveryContext } from "../pipeline/delivery_context.ts";
import { fire, firedName, firedPayload, type FireHost } from "../pipeline/fire.ts";
import type { KeyUses } from "../pipeline/key_uses.ts";
import { decide, type PipelineHost, STORED_REQUEST } from "../pipeline/pipeline.ts";
import { storedRequest } from "../pipeline/stored_request.ts";
import { byCurrentResources } from "../../store/stale_resources.ts";
import { findChainPosition } from "../task.ts";
import { record } from "../webhook.ts";
import type { TaskStore } from "../../store/task_store.ts";

/** The state of the daemon that takes a delivery again. */
export interface RedeliveryHost extends PipelineHost, FireHost {
  /** Records the new delivery, and finds the task or event of the old one. */
  readonly store: DeliveryRecorder & SourceEventStore & TaskStore;
  readonly triggers: Triggers;
  readonly keyUses: KeyUses;
}

/** The result of a redelivery. */
export interface RedeliveryResult {
  /** Id of the new delivery. */
  readonly id: string;
  /** The best outcome of its events. */
  readonly outcome: string;
  /** Reason of the outcome; empty if there is none. */
  readonly reason: string;
  readonly taskIds: readonly string[];
}

/**
 * Redelivers a delivery for somebody; the new one and its tasks are on disk when the promise resolves.
 *
 * @throws {AppError} `refused` if it cannot be redelivered: it is a handshake, it came through Slack's
 * endpoint, or its content is not stored; what the pipeline throws.
 */
export function redeliverOne(
  stored: StoredDelivery,
  by: AskedBy,
  host: RedeliveryHost,
): Promise<RedeliveryResult> {
  return byCurrentResources(
    host.resources,
    (resourceVersion) => redeliver(stored, { by, resourceVersion }, host),
  );
}

/** Who redelivers, and the version of the resources that decide. */
interface Redelivered {
  readonly by: AskedBy;
  readonly resourceVersion: number;
}

async function redeliver(
  stored: StoredDelivery,
  { by, resourceVersion }: Redelivered,
  host: RedeliveryHost,
): Promise<RedeliveryResult> {
  const { delivery } = stored;
  if (delivery.via === "internal") return await fireAgain(stored, { by, resourceVersion }, host);
  if (delivery.via === "chat") throw await useReplay(delivery, host.store);
  const { id, remote, outcome } = delivery;
  if (outcome === "rejected" && stored.content === undefined) {
    throw new AppError(
      "refused",
      `Delivery ${id} was rejected, and svc kept nothing of it: set ` +
        "spec.event.webhook.recordRejected: true and let the sender try again",
    );
  }
  const trigger = host.triggers.named(delivery);
  const context = new DeliveryContext({ id: host.newId(), clock: host.clock, remote });
  context.redeliveryOf = id;
  context.by = by;
  context.trigger = trigger;
  context.resourceVersion = resourceVersion;
  if (outcome === "handshake") throw startsNothing(id);
  const request = storedRequest(stored, context);
  const decision = await decide(request, trigger, STORED_REQUEST, host).catch((error) => {
    throw error instanceof AppError && error.code === "unauthorized"
      ? stillRefused(id, error)
      : error;
  });
  if (decision.handshake !== undefined) throw startsNothing(id);
  const outcomes = await record(decision, host);
  const best = bestOf(outcomes);
  return {
    id: context.id,
    outcome: best?.outcome ?? "filtered",
    reason: best?.reason ?? "",
    taskIds: startedTasks(outcomes),
  };
}

function stillRefused(id: string, { reason, message }: AppError): AppError {
  return new AppError(
    "refused",
    `Delivery ${id} was rejected, and still is: ${
      reason || message
    }. See svc delivery explain ${id}`,
  );
}

function startsNothing(id: string): AppError {
  return new AppError(
    "refused",
    `Delivery ${id} is a handshake of its platform: it starts nothing`,
  );
}

/**
 * The refusal to redeliver a chat event, which would start a second task outside its thread. Points to
 * `svc source replay`.
 */
async function useReplay(
  { id, outcome, reason }: Delivery,
  store: SourceEventStore,
): Promise<AppError> {
  const event = await store.findEventOfDelivery(id);
  const remedy = event !== undefined
    ? `use "svc source replay ${event.id}"`
    : outcome === "duplicate"
    ? `it was ${reason}: use "svc source replay" with that id`
    : "it has no event to route";
  return new AppError("refused", `Delivery ${id} came through the Slack source: ${remedy}`);
}

/** Fires a stored event again that no request brought: it has no platform, plugins or sender. */
async function fireAgain(
  stored: StoredDelivery,
  redelivered: Redelivered,
  host: RedeliveryHost,
): Promise<RedeliveryResult> {
  const { delivery } = stored;
  const { source } = delivery;
  const trigger = host.triggers.named(firedName(delivery));
  const { payload, body, headers } = firedPayload(stored, trigger);
  const id = host.newId();
  const outcome = await fire({
    id,
    source,
    payload,
    body,
    headers,
    redeliveryOf: delivery.id,
    ...redelivered,
    trigger,
    ...(isJsonObject(payload) && source === "task"
      ? await findChainPosition(payload, host.store)
      : {}),
  }, host);
  const { reason } = outcome;
  return { id, outcome: outcome.outcome, reason, taskIds: startedTasks([outcome]) };
}
