/**
 * Scheme `shopify`: base64 of HMAC-SHA256 over the exact body, under the app's client secret as text.
 * `X-Shopify-Webhook-Id` and the topic are not covered. No time is signed. What Shopify calls Events
 * is signed alike, in `Shopify-Hmac-Sha256`.
 *
 * @module
 */

import type { Scheme } from "./scheme.ts";
import { templatedHmac } from "./templated_hmac.ts";

/** The scheme `shopify`. */
export const shopifyScheme: Scheme = templatedHmac({
  name: "shopify",
  defaultHeader: "X-Shopify-Hmac-SHA256",
  spec: () => ({
    form: { hash: "sha256", encoding: "base64", prefix: "" },
    template: "{body}",
  }),
});
