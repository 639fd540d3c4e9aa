/**
 * `svc delivery show`: the stored request of a delivery, its secret headers masked.
 *
 * @module
 */

import type { ShownDelivery } from "../../api/delivery_operations.ts";
import type { Input } from "../../api/operations.ts";
import { findText, toBase64 } from "../../base/bytes.ts";
import { AppError } from "../../base/errors.ts";
import type { WebhookSpec } from "../../resources/event_webhook.ts";
import { bodyIsGone } from "../../intake/pipeline/stored_request.ts";
import { schemeOf } from "../../intake/pipeline/signing.ts";
import { webhookPath } from "../../intake/webhook_path.ts";
import { triggerNameOf, webhookOf } from "../../intake/tools/explain.ts";
import type { Delivery } from "../../store/delivery_records.ts";
import type { Triggers } from "../../intake/admission/triggers.ts";
import type { ExplainHost } from "./explain.ts";
import { findStored } from "./find_stored.ts";
import { maskHeaders, maskQuery } from "../records/masked_headers.ts";
import type { StatusHost } from "../records/status.ts";
import { deliveryView } from "../records/views.ts";

/** Bytes of a body that are shown without `whole`. */
const MAX_SHOWN_BYTES = 256 * 1024;

/**
 * Shows the stored request of one delivery.
 *
 * @throws {AppError} `not_found` when there is no such delivery, or its content was not kept.
 */
export async function showDelivery(
  { id, whole = false }: Input<"delivery.show">,
  host: ExplainHost & Pick<StatusHost, "status">,
): Promise<ShownDelivery> {
  const { delivery, content } = await findStored(id, host.store);
  const webhook = findWebhook(delivery, host.triggers);
  if (content === undefined) {
    throw new AppError("not_found", whyNothing(delivery, webhook?.recordRejected));
  }
  const { webhookUrl } = host.status();
  const { body } = content;
  const shown = whole ? body : beginningOf(body);
  const text = findText(shown);
  return {
    delivery: host.secrets.redactAll(deliveryView(delivery)),
    method: delivery.detail.handshakeMethod ?? "POST",
    url: webhookUrl === undefined || hadNoRequest(delivery)
      ? null
      : host.secrets.redactAll(webhookUrl + locationOf(delivery, content.url)),
    headers: host.secrets.redactAll(
      maskHeaders(content.headers, webhook === undefined ? [] : signatureHeaders(webhook)),
    ),
    body: text ?? toBase64(shown),
    body_bytes: body.length,
    truncated: shown.length < body.length,
    body_encoding: text === undefined ? "base64" : "text",
  };
}

/** The first bytes of a body, without a character that is cut in two. */
function beginningOf(body: Uint8Array): Uint8Array {
  if (body.length <= MAX_SHOWN_BYTES) return body;
  const cut = body.subarray(0, MAX_SHOWN_BYTES);
  const inside = (at: number) => ((body[at] ?? 0) & 0b1100_0000) === 0b1000_0000;
  const [end] = [0, 1, 2, 3].map((back) => MAX_SHOWN_BYTES - back).filter((at) => !inside(at));
  const text = body.subarray(0, end);
  return findText(text) === undefined ? cut : text;
}

/**
 * Whether the delivery came without a request: svc fired the event itself, or it came over a
 * socket.
 */
function hadNoRequest({ via, detail }: Delivery): boolean {
  return via === "internal" || (via === "chat" && detail.connection !== undefined);
}

/** The webhook settings of its trigger as they are now. */
function findWebhook(delivery: Delivery, triggers: Triggers): WebhookSpec | undefined {
  const trigger = delivery.via === "internal" ? undefined : triggers.find(triggerNameOf(delivery));
  return trigger === undefined ? undefined : webhookOf(delivery, trigger);
}

function signatureHeaders(webhook: WebhookSpec): readonly string[] {
  return [schemeOf(webhook).options.signatureHeader];
}

function whyNothing(delivery: Delivery, recordRejected?: boolean): string {
  const { id, outcome, detail } = delivery;
  if (detail.bodyDeletedAt !== undefined) {
    return `Delivery ${id} cannot be shown: ${bodyIsGone(delivery)}`;
  }
  const why = outcome !== "rejected"
    ? "it arrived before svc kept bodies"
    : recordRejected === true
    ? "the body was too large, arrived before recordRejected was set, or newer ones have " +
      "replaced it"
    : "it was rejected; set spec.event.webhook.recordRejected: true and let the sender try again";
  return `Nothing of delivery ${id} was kept: ${why}`;
}

/** Path and query as they arrived, with values masked that would let a reader forge a request. */
function locationOf(delivery: Delivery, arrived: string): string {
  const [, location] = /^[a-z]+:\/\/[^/?#]*([^#]*)/.exec(arrived) ?? [];
  if (location === undefined) return pathOf(delivery);
  const [path = "", ...query] = location.split("?");
  return query.length === 0 ? path : `${path}?${maskQuery(query.join("?"))}`;
}

/** The path of a request whose URL was not kept. */
function pathOf({ project, trigger, source, via }: Delivery): string {
  if (via === "chat") return `/source/${source}/${project}/${trigger}`;
  return webhookPath({ project, name: trigger });
}
