/**
 * Stripe: `t=<seconds>,v1=<hex>[,v1=<hex>…]`, HMAC-SHA256 over `<t>.<body>` under the whole text
 * `whsec_…`, which Stripe, unlike Standard Webhooks, does not decode. While a secret is rolled,
 * each secret has its `v1`. Other parts are ignored, such as the `v0` of test events, which proves
 * nothing. The event's `id` is in the signed body and stays the same in retries.
 *
 * @module
 */

import { templatedHmac } from "../signatures/templated_hmac.ts";
import { payloadId, type Platform } from "./platform.ts";

export const stripe: Platform = {
  name: "stripe",
  title: "Stripe",
  headers: ["Stripe-Signature"],
  signature: templatedHmac({
    form: { hash: "sha256", encoding: "hex", prefix: "v1=", separator: "," },
    template: "{timestamp}.{body}",
    timestampPrefix: "t=",
  }),
  auto: true,
  eventId: (event) => payloadId(event.payload["id"], event),
  docs: { signs: "time and body, any of several `v1`", eventId: "`id`" },
};
