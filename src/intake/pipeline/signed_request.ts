/**
 * A delivery as a signature sees it.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import type { WebhookSpec } from "../../resources/event_webhook.ts";
import type { FindCertificate, SignedRequest } from "../../signatures/scheme.ts";
import type { ReceivedDelivery } from "./delivery_context.ts";

/** A delivery as a signature sees it. */
export function signedRequest(
  delivery: ReceivedDelivery,
  webhook: WebhookSpec,
  findCertificate?: FindCertificate,
): SignedRequest {
  const { body, headers, context, arrivedAt = context.receivedAt } = delivery;
  return {
    body,
    header: (name) => Object.hasOwn(headers, name) ? headers[name] : undefined,
    now: arrivedAt,
    url: publicUrl(webhook.publicUrl, delivery.url),
    arrivedUrl: delivery.url,
    ...defined({ findCertificate }),
  };
}

/** The URL that the sender knows; behind a proxy, another URL arrives. */
export function publicUrl(configured: string | undefined, arrived: string): string {
  if (configured === undefined) return arrived;
  const query = arrived.indexOf("?");
  return configured.includes("?") || query === -1 ? configured : configured + arrived.slice(query);
}
