/**
 * Shopify: base64 of HMAC-SHA256 over the exact body, under the app's client secret as text. What
 * Shopify calls Events is signed in the same way, under headers without `X-`. The webhook id stays
 * the same in retries. Neither it nor the topic is signed, and no time is.
 *
 * @module
 */

import { templatedHmac } from "../signatures/templated_hmac.ts";
import { headerId, type Platform } from "./platform.ts";

export const shopify: Platform = {
  name: "shopify",
  title: "Shopify",
  headers: ["X-Shopify-Hmac-SHA256", "Shopify-Hmac-SHA256"],
  signature: templatedHmac({
    form: { hash: "sha256", encoding: "base64", prefix: "" },
    template: "{body}",
  }),
  auto: true,
  sends: { event: "X-Shopify-Topic", id: "X-Shopify-Webhook-Id" },
  eventId: (event) =>
    event.signatureHeader === "shopify-hmac-sha256"
      ? headerId("shopify-webhook-id", event)
      : headerId("x-shopify-webhook-id", event),
  docs: {
    signs: "body, base64",
    eventId: "`X-Shopify-Webhook-Id` (`Shopify-Webhook-Id` of Events) and the body",
  },
};
