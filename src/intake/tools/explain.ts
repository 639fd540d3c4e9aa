/**
 * The parts of `svc delivery explain`: the check of the sender, the reason for the filter's decision,
 * and what would have to change. Runs no plugin and decides nothing.
 *
 * @module
 */

import type { Explanation } from "../../api/delivery_operations.ts";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { Evaluator } from "../../cel/evaluator.ts";
import { explainCondition, type ExplainedPart, OPERATORS } from "../../cel/explain.ts";
import { scopeOf } from "../../cel/expression.ts";
import type { Path } from "../../cel/values.ts";
import { pluginsOf } from "../../plugins/phases.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { PluginType } from "../../resources/custom_resource_definition.ts";
import type { WebhookSpec } from "../../resources/event_webhook.ts";
import { DEFAULT_PROJECT, type Resource } from "../../resources/resource.ts";
import type { SecretStoreSpec } from "../../resources/secret_store.ts";
import { signsInBody } from "../../platforms/platform.ts";
import { SCHEMES } from "../../platforms/schemes.ts";
import { COVERS_NOTHING, isCovered } from "../../signatures/coverage.ts";
import { diagnose, type Diagnosis } from "../../signatures/doctor.ts";
import type { Delivery, StoredDelivery } from "../../store/delivery_records.ts";
import { eventVariables, type TriggerEvent } from "../admission/admit.ts";
import { platformOfTrigger, schemeOf } from "../pipeline/signing.ts";
import type { ActiveTrigger, TriggerName } from "../admission/triggers.ts";
import { findStore, signingKeys } from "../pipeline/signing_keys.ts";
import { nativeWebhook } from "../pipeline/authenticate_native.ts";
import { signedRequest } from "../pipeline/signed_request.ts";
import { firedEvent, firedName, MANUAL } from "../pipeline/fire.ts";
import { storedEvents } from "../pipeline/pipeline.ts";
import { TELLS_OF_SIGNATURES } from "../pipeline/recorded_names.ts";
import { bodyIsGone, checkedBy, contextOf, storedRequest } from "../pipeline/stored_request.ts";

/** The resources and the evaluator for explanations. */
export interface ExplainingHost {
  /** The present SecretStores and CRDs. */
  readonly catalog: Catalog;
  readonly evaluator: Evaluator;
}

/** The outcome of one event, without the parts of its condition. */
export type EventSummary = Omit<Explanation["events"][number], "parts">;

/** The name of the trigger of a delivery. */
export function triggerNameOf(delivery: Delivery): TriggerName {
  const { project, trigger } = delivery;
  return delivery.via === "internal"
    ? firedName(delivery)
    : { project, trigger, source: "webhook" };
}

/** The webhook settings of a delivery: a platform's own endpoint has a fixed scheme. */
export function webhookOf(delivery: Delivery, { webhook }: ActiveTrigger): WebhookSpec {
  return delivery.via === "chat" ? nativeWebhook("slack", webhook) : webhook;
}

/** The check of the sender of a delivery, in words. */
export function explainAuthentication(delivery: Delivery): string {
  if (delivery.via === "internal") {
    const by = delivery.source === MANUAL ? "an operator fired it" : "the event is svc's own";
    return `none needed, ${by}`;
  }
  if (delivery.status === 401) return `refused: ${delivery.reason}`;
  const { redeliveryOf } = delivery.detail;
  const then = redeliveryOf === undefined ? "" : `, when delivery ${redeliveryOf} arrived`;
  switch (checkedBy(delivery)) {
    case "key":
      return `passed with key "${delivery.secretKey}" of SecretStore "${delivery.secretStore}"${then}`;
    case "connection":
      return `passed by Connection "${delivery.detail.connection}", which fetched it${then}`;
    case "interceptor":
      return `passed by the interceptors of its trigger${then}`;
    case "nothing":
      return `passed without a signature (allowUnsigned)${then}`;
    case undefined:
      return "not reached";
  }
}

/** The parts of the condition of each event, or why they cannot be evaluated. */
export async function explainEvents(
  stored: StoredDelivery,
  trigger: ActiveTrigger | undefined,
  outcomes: readonly EventSummary[],
  host: ExplainingHost,
): Promise<Pick<Explanation, "events" | "not_evaluated">> {
  const { outcome, detail: { condition } } = stored.delivery;
  const events = outcomes.map((summary) => ({ ...summary, parts: [] }));
  if (condition === undefined || trigger === undefined) return { events };
  if (outcome === "rejected" || outcome === "handshake") return { events };
  if (stored.content === undefined) {
    if (stored.delivery.detail.bodyDeletedAt === undefined) return { events };
    return { events, not_evaluated: bodyIsGone(stored.delivery) };
  }
  const [transformer] = pluginsFor(stored.delivery, trigger, "transformer", host.catalog);
  if (transformer !== undefined) {
    const why = `the condition sees the output of the transformer "${transformer}", and ` +
      "explain runs no plugins; svc trigger test does";
    return { events, not_evaluated: why };
  }
  const seen = eventsOf(stored, trigger);
  return {
    events: await Promise.all(outcomes.map(async (summary, index) => {
      const event = seen[index];
      if (event === undefined) return { ...summary, parts: [] };
      return { ...summary, parts: await explainSeen(event, condition, host.evaluator) };
    })),
  };
}

/** The parts of a condition over an event; says of each value whether its sender signed it. */
export function explainSeen(
  event: TriggerEvent,
  condition: string,
  evaluator: Evaluator,
): Promise<ExplainedPart[]> {
  const { request, coverage = COVERS_NOTHING } = event;
  const scope = scopeOf(eventVariables(event, true), OPERATORS);
  const isSigned = (path: Path) => isCovered(path, coverage);
  return explainCondition(condition, scope, evaluator, request && isSigned);
}

/** The events of a stored delivery, for their condition. */
function eventsOf(stored: StoredDelivery, trigger: ActiveTrigger): readonly TriggerEvent[] {
  if (stored.delivery.via === "internal") return [firedEvent(stored, trigger)];
  return storedEvents(storedRequest(stored, contextOf(stored.delivery)), trigger);
}

/** The changes that would make a rejected signature valid; empty if plugins check the sender. */
export async function diagnoseSignature(
  stored: StoredDelivery,
  trigger: ActiveTrigger | undefined,
  { catalog }: ExplainingHost,
): Promise<readonly Diagnosis[]> {
  const { delivery, content } = stored;
  if (delivery.status !== 401 || content === undefined || trigger === undefined) return [];
  if (pluginsFor(delivery, trigger, "interceptor", catalog).length > 0) return [];
  const webhook = webhookOf(delivery, trigger);
  const own = findStore(trigger, catalog)?.name;
  const stores = catalog.list("SecretStore", delivery.project).map((store) => ({
    store: store.name,
    keys: signingKeys(store as Resource<SecretStoreSpec>),
  })).sort((a, b) => Number(b.store === own) - Number(a.store === own));
  const received = storedRequest(stored, contextOf(delivery));
  const request = signedRequest(received, webhook);
  return await diagnose(
    { ...request, headers: received.headers, arrivedUrl: received.url },
    { stores, schemes: SCHEMES },
    { ...schemeOf(webhook), ...defined({ store: own }) },
  );
}

/** The next steps for the operator, a line for each. */
export function advise(
  { delivery, content }: StoredDelivery,
  trigger: ActiveTrigger | undefined,
  { catalog }: ExplainingHost,
): string[] {
  if (trigger === undefined) return [`Trigger "${delivery.trigger}" no longer exists`];
  const lines: string[] = [];
  if (delivery.status === 401) {
    const [interceptor] = pluginsFor(delivery, trigger, "interceptor", catalog);
    if (interceptor === undefined) {
      lines.push(...signatureAdvice(delivery, webhookOf(delivery, trigger), content !== undefined));
    } else {
      lines.push(
        `The interceptor "${interceptor}" checks the sender, not a signature: see svc get audit for its runs`,
      );
    }
  }
  if (delivery.status === 415) lines.push(...typeAdvice(delivery));
  if (delivery.outcome === "filtered") {
    lines.push(`After changing the condition: svc delivery redeliver ${delivery.id}`);
  }
  if (delivery.outcome === "skipped") {
    const { project, name, spec } = trigger.resource;
    if (spec.suspend === true) {
      const where = project === DEFAULT_PROJECT ? "" : ` -p ${project}`;
      lines.push(`The trigger is still suspended: svc trigger resume ${name}${where}`);
    }
    lines.push(`To run it again: svc delivery redeliver ${delivery.id}`);
  }
  return lines;
}

/** Advice about a content type that svc does not read. */
function typeAdvice({ via, detail: { headerNames } }: Delivery): string[] {
  if (headerNames.includes("content-encoding")) {
    return ["Turn compression off at the sender: a signature covers the bytes that are sent"];
  }
  const sent = "Have the sender send application/json";
  if (via === "chat") return [sent];
  return [
    `${sent}, or set spec.event.webhook.body: text, which takes every type: payload is then the ` +
    "text, and fromJson(payload) reads JSON in it",
  ];
}

function signatureAdvice(delivery: Delivery, webhook: WebhookSpec, isKept: boolean): string[] {
  const lines: string[] = [];
  if (delivery.detail.failure === "timestamp_outside_window") {
    lines.push(
      "If it was sent at that time, a clock is wrong: here it was " +
        `${rfc3339(delivery.receivedAt)}. If it was kept and sent later, it ` +
        "needs a new signature, as svc trigger send makes",
    );
  }
  if (!isKept) {
    lines.push(
      webhook.recordRejected === true
        ? "The body was too large to be kept, or newer rejections have replaced it"
        : "Set spec.event.webhook.recordRejected: true and send again, then the signature can be examined",
    );
  }
  if (webhook.secret === undefined) return lines;
  const platform = platformOfTrigger(webhook);
  if (platform !== undefined && signsInBody(platform)) return lines;
  const header = schemeOf(webhook).options.signatureHeader;
  if (delivery.detail.headerNames.includes(header)) return lines;
  const { headerNames, headersLeftOff = 0 } = delivery.detail;
  const near = headerNames.filter((name) => TELLS_OF_SIGNATURES.test(name));
  const had = near.length === 0 ? "no header that looks like a signature" : near.join(", ");
  const more = headersLeftOff === 0 ? "" : `, and ${headersLeftOff} more that were not recorded`;
  return [...lines, `The trigger looks for the header ${header}; the request had ${had}${more}`];
}

/** Names of the plugins that would run for a delivery now; only the webhook endpoint runs plugins. */
function pluginsFor(
  delivery: Delivery,
  { resource }: ActiveTrigger,
  type: PluginType,
  catalog: Catalog,
): string[] {
  if (delivery.via === "internal" || delivery.via === "chat") return [];
  const kind = resource.spec.event.webhook?.crdRef;
  const crd = kind === undefined ? undefined : catalog.kinds.crd(kind);
  return crd === undefined ? [] : pluginsOf(crd.spec, type).map(({ name }) => name);
}
