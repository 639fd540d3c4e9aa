/**
 * `svc delivery explain`: what happened to a delivery at each stage, why the filter said
 * no, and for a rejected signature what would have to change. For the operator only.
 *
 * @module
 */

import type { Explanation } from "../../api/delivery_operations.ts";
import type { Evaluator } from "../../cel/evaluator.ts";
import { explainCondition, OPERATORS } from "../../cel/explain.ts";
import { scopeOf } from "../../cel/expression.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { Resource } from "../../resources/resource.ts";
import type { WebhookSpec } from "../../resources/event_webhook.ts";
import type { SecretStoreSpec } from "../../resources/secret_store.ts";
import type { KnownSecrets } from "../../secrets/known_secrets.ts";
import { SCHEMES } from "../../platforms/schemes.ts";
import { diagnose, type Diagnosis } from "../../signatures/doctor.ts";
import {
  authenticatedBefore,
  findStore,
  nativeWebhook,
  schemeOf,
  signedRequest,
  signingKeys,
} from "../../intake/pipeline/authenticate.ts";
import { findTrigger } from "../../intake/pipeline/find_trigger.ts";
import { firedEvent, firedName, MANUAL } from "../../intake/pipeline/fire.ts";
import { parsePayload } from "../../intake/pipeline/payload.ts";
import { DeliveryContext } from "../../intake/pipeline/delivery_context.ts";
import { toEvents } from "../../intake/pipeline/webhook_events.ts";
import type { Delivery, DeliveryContent, StoredDelivery } from "../../store/delivery_records.ts";
import type { SourceEvent } from "../../store/source_event_records.ts";
import type { Store } from "../../store/store.ts";
import { eventVariables, type TriggerEvent } from "../../intake/admission/admit.ts";
import type { ActiveTrigger, Triggers } from "../../intake/admission/triggers.ts";
import { findRecord, findRecordType } from "../records/records.ts";
import { deliveryView } from "../records/views.ts";

/** What explaining needs. */
export interface ExplainHost {
  /** Deliveries. */
  readonly store: Store;
  /** SecretStores. */
  readonly catalog: Catalog;
  /** Hides their values in what is told. */
  readonly secrets: KnownSecrets;
  /** Triggers as they are now. */
  readonly triggers: Triggers;
  /** Runs parts of conditions. */
  readonly evaluator: Evaluator;
}

/**
 * Explains one delivery.
 *
 * @throws {AppError} `not_found` when there is none.
 */
export async function explain(id: string, host: ExplainHost): Promise<Explanation> {
  const stored = await findStored(id, host.store);
  const { delivery } = stored;
  const trigger = findTrigger(host.triggers, triggerName(delivery));
  const event = await host.store.findEventOfDelivery(delivery.id);
  const events = await explainFilter(stored, { trigger, event }, host);
  return host.secrets.redactAll<Explanation>({
    delivery: deliveryView(delivery),
    stages: Object.entries(delivery.detail.stages).map(([stage, ms]) => ({ stage, after_ms: ms })),
    authentication: authentication(delivery),
    ...(delivery.detail.condition === undefined ? {} : { condition: delivery.detail.condition }),
    ...(event === undefined ? {} : { source_event_id: event.id }),
    events,
    diagnoses: (await diagnoseSignature(stored, trigger, host)).map(({ cause, message }) => ({
      cause,
      message,
    })),
    advice: [...advice(stored, trigger), ...replayAdvice(event)],
  });
}

/** Names the trigger of a delivery: that of a chat platform's endpoint is one of webhooks, too. */
export function triggerName(delivery: Delivery): Parameters<Triggers["named"]>[0] {
  switch (delivery.via) {
    case "internal":
      return firedName(delivery);
    case "chat":
      return { ...delivery, source: "webhook" };
    case "http":
      return delivery;
  }
}

/** What holds for a delivery: a platform's own source does not ask the trigger for the scheme. */
export function webhookOf({ via }: Delivery, { resource }: ActiveTrigger): WebhookSpec {
  const webhook = resource.spec.event.webhook ?? {};
  return via === "chat" ? nativeWebhook("slack", webhook) : webhook;
}

/**
 * A delivery with its content, by the beginning of its id.
 *
 * @throws {AppError} `not_found` or `usage`.
 */
export async function findStored(id: string, store: Store): Promise<StoredDelivery> {
  const sort = findRecordType("delivery");
  if (sort === undefined) throw new Error("Deliveries are a record");
  const found = await findRecord(sort, id, store) as Delivery;
  return await store.readDelivery(found.id) ?? { delivery: found };
}

function authentication(delivery: Delivery): string {
  if (delivery.via === "internal") {
    const by = delivery.source === MANUAL ? "an operator fired it" : "the event is svc's own";
    return `none needed, ${by}`;
  }
  if (delivery.outcome === "rejected") {
    if (delivery.status === 401) return `refused: ${delivery.reason}`;
    if (delivery.secretStore === "") return "not reached";
  }
  if (delivery.secretStore === "") return "passed without a signature (allowUnsigned)";
  return `passed with key "${delivery.secretKey}" of SecretStore "${delivery.secretStore}"`;
}

/** Evaluates the condition as it was, over what was stored, part by part. */
async function explainFilter(
  stored: StoredDelivery,
  { trigger, event: sourceEvent }: {
    trigger: ActiveTrigger | undefined;
    event: SourceEvent | undefined;
  },
  host: ExplainHost,
): Promise<Explanation["events"]> {
  const { delivery } = stored;
  const { outcome, reason, taskId } = sourceEvent === undefined
    ? delivery
    : { ...sourceEvent, outcome: sourceEvent.state };
  const outcomes = delivery.detail.events ?? [{ outcome, reason, taskId }];
  const told = outcomes.map(({ outcome, reason, taskId = "" }) => ({
    outcome,
    reason,
    task_id: taskId === "" ? null : taskId,
    parts: [] as Explanation["events"][number]["parts"],
  }));
  const { condition } = delivery.detail;
  if (condition === undefined || trigger === undefined || stored.content === undefined) return told;
  if (delivery.outcome === "rejected" || delivery.outcome === "handshake") return told;
  const events = eventsOf(stored, trigger);
  return await Promise.all(told.map(async (one, index) => {
    const event = events[index];
    if (event === undefined) return one;
    const scope = scopeOf(eventVariables(event), OPERATORS);
    return { ...one, parts: await explainCondition(condition, scope, host.evaluator) };
  }));
}

/** The events of a stored delivery, as its condition saw them. */
function eventsOf(stored: StoredDelivery, trigger: ActiveTrigger): readonly TriggerEvent[] {
  const { delivery } = stored;
  if (delivery.via === "internal") return [firedEvent(stored, trigger)];
  const clock = { now: () => delivery.receivedAt };
  const context = new DeliveryContext({ id: delivery.id, clock, remote: "" });
  context.trigger = trigger;
  return toEvents(parsePayload(authenticatedBefore(stored, context)), trigger);
}

async function diagnoseSignature(
  { delivery, content }: StoredDelivery,
  trigger: ActiveTrigger | undefined,
  host: ExplainHost,
): Promise<readonly Diagnosis[]> {
  if (delivery.status !== 401 || content === undefined || trigger === undefined) return [];
  const webhook = webhookOf(delivery, trigger);
  const own = findStore(trigger, host.catalog)?.name;
  const stores = host.catalog.list("SecretStore", delivery.project).map((store) => ({
    store: store.name,
    keys: signingKeys(store as Resource<SecretStoreSpec>),
  })).sort((a, b) => Number(b.store === own) - Number(a.store === own));
  const request = signedRequest(toReceived(delivery, content), webhook);
  return await diagnose(
    { ...request, headers: content.headers },
    { stores, schemes: SCHEMES },
    { ...schemeOf(webhook), ...(own === undefined ? {} : { store: own }) },
  );
}

function toReceived(delivery: Delivery, content: DeliveryContent) {
  const context = new DeliveryContext({
    id: delivery.id,
    clock: { now: () => delivery.receivedAt },
    remote: delivery.remote,
  });
  return { body: new Uint8Array(content.body), headers: content.headers, url: "", context };
}

/** What to do next, where there is something. */
function advice(
  { delivery, content }: StoredDelivery,
  trigger: ActiveTrigger | undefined,
): string[] {
  if (trigger === undefined) return [`Trigger "${delivery.trigger}" no longer exists`];
  const webhook = webhookOf(delivery, trigger);
  const lines: string[] = [];
  if (delivery.status === 401 && content === undefined) {
    lines.push(
      webhook.recordRejected === true
        ? "The body was too large to be kept, or newer rejections have replaced it"
        : "Set spec.event.webhook.recordRejected: true and send again, then the signature can be examined",
    );
  }
  if (delivery.status === 401 && webhook.secret !== undefined) {
    const header = schemeOf(webhook).options.signatureHeader;
    if (!delivery.detail.headerNames.includes(header)) {
      const near = delivery.detail.headerNames.filter((name) => /sign|token|auth|hmac/.test(name));
      const had = near.length === 0 ? "no header that looks like a signature" : near.join(", ");
      lines.push(`The trigger looks for the header ${header}; the request had ${had}`);
    }
  }
  if (delivery.outcome === "filtered") {
    lines.push(`After changing the condition: svc delivery redeliver ${delivery.id}`);
  }
  if (delivery.outcome === "skipped") {
    lines.push(`To try it once more: svc delivery redeliver ${delivery.id}`);
  }
  return lines;
}

/** What was not routed can be looked at again. */
function replayAdvice(event: SourceEvent | undefined): string[] {
  if (event === undefined || event.state === "routed") return [];
  if (event.state === "received" || event.state === "routing") return ["It waits to be routed"];
  const bind = event.state === "needs_attention" && event.threadId !== ""
    ? [`To hand its thread to a task: svc source bind ${event.id} TASK`]
    : [];
  return [...bind, `To route it once more: svc source replay ${event.id}`];
}
