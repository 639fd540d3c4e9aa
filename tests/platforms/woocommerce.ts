/**
 * WooCommerce. The signature is that of Python's `hmac`.
 *
 * @module
 */

import type { Sample } from "./sample.ts";

/** WooCommerce. */
export const sample: Sample = {
  requests: [{
    name: "woocommerce order",
    scheme: "woocommerce",
    header: "X-WC-Webhook-Signature",
    secret: "the webhook's secret",
    body_utf8: '{"id":727,"status":"processing","billing":{"city":"Zürich"}}',
    headers: { "X-WC-Webhook-Signature": "a35ZYTcO+I+dJ9wxbL0XN0YD1Lf74jPuGsmBFb1SKXU=" },
    signs: {},
    otherSecret: "another secret",
    signed: "own",
  }],
  handshakes: [],
  unsigned: [
    { body: "webhook_id=12", answer: [200, '{"status":"pong"}'] },
    { body: "webhook_id=12&status=refunded" },
    { body: "webhook_id=<script>" },
    { body: `webhook_id=${"1".repeat(2000)}` },
    { body: "{}" },
  ],
  events: [
    {
      payload: { id: 727 },
      headers: { "x-wc-webhook-delivery-id": "d1" },
      id: { id: "d1", signed: false },
    },
    { payload: { webhook_id: "12" } },
  ],
};
