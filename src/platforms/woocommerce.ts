/**
 * WooCommerce: base64 of HMAC-SHA256 over the exact body under the webhook's secret. When a webhook
 * is saved, a form with only `webhook_id` comes without a signature and expects 200. The delivery
 * id is not signed. From "Webhooks" of WooCommerce's documentation and from its class `WC_Webhook`.
 *
 * @module
 */

import { findText } from "../base/bytes.ts";
import { templatedHmac } from "../signatures/templated_hmac.ts";
import { headerId, MAX_UNSIGNED_BYTES, type Platform, PONG } from "./platform.ts";

export const woocommerce: Platform = {
  name: "woocommerce",
  title: "WooCommerce",
  headers: ["X-WC-Webhook-Signature"],
  signature: templatedHmac({
    form: { hash: "sha256", encoding: "base64", prefix: "" },
    template: "{body}",
  }),
  auto: true,
  sends: { event: "X-WC-Webhook-Topic", id: "X-WC-Webhook-Delivery-ID" },
  unsignedHandshake: {
    method: "POST",
    answer: ({ body }) => {
      const text = body.length > MAX_UNSIGNED_BYTES ? undefined : findText(body);
      return text !== undefined && /^webhook_id=[0-9]{1,20}$/.test(text) ? PONG : undefined;
    },
  },
  eventId: (event) => headerId("x-wc-webhook-delivery-id", event),
  docs: { signs: "body, base64", eventId: "`X-WC-Webhook-Delivery-ID` and the body" },
};
