/**
 * Shopify: `X-Shopify-Webhook-Id` stays the same over its retries; the signature does not cover it.
 *
 * @module
 */

import { type Platform, unsignedKey } from "./platform.ts";

/** Shopify. */
export const shopify: Platform = {
  name: "shopify",
  eventKey: (request) => unsignedKey(request, "x-shopify-webhook-id"),
};
