/**
 * Shopify; its signature is in the fixture.
 *
 * @module
 */

import type { Sample } from "./sample.ts";

const BOTH = { "x-shopify-webhook-id": "x", "shopify-webhook-id": "e" };

/** Shopify. */
export const sample: Sample = {
  handshakes: [],
  events: [
    { payload: { id: 1 }, headers: BOTH, id: { id: "x", signed: false } },
    {
      payload: { id: 1 },
      headers: BOTH,
      signatureHeader: "shopify-hmac-sha256",
      id: { id: "e", signed: false },
    },
  ],
};
