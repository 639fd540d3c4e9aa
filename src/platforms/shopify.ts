/**
 * Shopify: `X-Shopify-Webhook-Id` stays the same over its retries; the signature does not cover it.
 * What it calls Events has the same header without `X-`.
 *
 * @module
 */

import { headerName, type Platform } from "./platform.ts";

/** Shopify. */
export const shopify: Platform = {
  name: "shopify",
  eventName: (event) =>
    event.signatureHeader === "shopify-hmac-sha256"
      ? headerName("shopify-webhook-id", event)
      : headerName("x-shopify-webhook-id", event),
};
