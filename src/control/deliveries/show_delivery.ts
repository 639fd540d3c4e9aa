/**
 * `svc delivery show`: what was kept of a delivery, its headers masked.
 *
 * @module
 */

import type { ShownDelivery } from "../../api/delivery_operations.ts";
import { findText, toBase64 } from "../../base/bytes.ts";
import { AppError } from "../../base/errors.ts";
import { DEFAULT_PROJECT } from "../../resources/resource.ts";
import { schemeOf } from "../../intake/pipeline/authenticate.ts";
import { findTrigger } from "../../intake/pipeline/find_trigger.ts";
import type { Delivery } from "../../store/delivery_records.ts";
import type { Triggers } from "../../intake/admission/triggers.ts";
import { type ExplainHost, findStored, triggerName, webhookOf } from "./explain.ts";
import { maskHeaders } from "../records/masked_headers.ts";
import type { StatusHost } from "../records/status.ts";
import { deliveryView } from "../records/views.ts";

/** What showing needs. */
export interface ShowHost extends ExplainHost, Pick<StatusHost, "status"> {}

/**
 * Shows one delivery.
 *
 * @throws {AppError} `not_found` when there is none, or nothing of it was kept.
 */
export async function showDelivery(id: string, host: ShowHost): Promise<ShownDelivery> {
  const { delivery, content } = await findStored(id, host.store);
  const webhook = findWebhook(delivery, host.triggers);
  if (content === undefined) {
    const why = whyNothing(delivery, webhook?.recordRejected);
    throw new AppError("not_found", `Nothing of delivery ${delivery.id} was kept: ${why}`);
  }
  const { webhookUrl } = host.status();
  const text = findText(content.body);
  return {
    delivery: host.secrets.redactAll(deliveryView(delivery)),
    url: webhookUrl === undefined || delivery.via === "internal"
      ? null
      : webhookUrl + pathOf(delivery),
    headers: host.secrets.redactAll(
      maskHeaders(content.headers, webhook === undefined ? [] : signatureHeaders(webhook)),
    ),
    body: text ?? toBase64(content.body),
    body_encoding: text === undefined ? "base64" : "text",
  };
}

/** The settings of its trigger as they are now. */
function findWebhook(delivery: Delivery, triggers: Triggers) {
  if (delivery.via === "internal") return undefined;
  const trigger = findTrigger(triggers, triggerName(delivery));
  return trigger === undefined ? undefined : webhookOf(delivery, trigger);
}

function signatureHeaders(webhook: Parameters<typeof schemeOf>[0]): readonly string[] {
  return [schemeOf(webhook).options.signatureHeader];
}

function whyNothing({ outcome }: Delivery, recordRejected: boolean | undefined): string {
  if (outcome !== "rejected") return "it came before bodies were kept";
  return recordRejected === true
    ? "the body was too large, came before recordRejected was set, or newer ones have replaced it"
    : "it was rejected; set spec.event.webhook.recordRejected: true and let the sender try again";
}

/** Where the request came in. */
function pathOf({ project, trigger, source, via }: Delivery): string {
  if (via === "chat") return `/source/${source}/${project}/${trigger}`;
  return `/webhook/${project === DEFAULT_PROJECT ? "" : `${project}/`}${trigger}`;
}
