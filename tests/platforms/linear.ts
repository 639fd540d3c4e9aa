/**
 * Linear. The request was accepted by `LinearWebhookClient` of `@linear/sdk`.
 *
 * @module
 */

import type { Sample } from "./sample.ts";

const ID = "234d1a4e-b617-4388-90fe-adc3633d6b72";

/** Linear. */
export const sample: Sample = {
  requests: [{
    name: "linear issue",
    scheme: "linear",
    header: "Linear-Signature",
    secret: "linear secret",
    body_utf8: '{"action":"create","type":"Issue","data":{"title":"Grüße"},' +
      '"webhookTimestamp":1700000000000,"webhookId":"000042e3-d123-4980-b49f-8e140eef9329"}',
    headers: {
      "Linear-Signature": "caf13f7018fa0e62bdc066213bcb55834f24de620491a31d40e63005477e8592",
    },
    now: 1_700_000_000,
    signs: { time: "in the body" },
    otherSecret: "another secret",
    signed: "own",
  }],
  handshakes: [],
  events: [{
    payload: { action: "create", webhookId: "the webhook's" },
    headers: { "linear-delivery": ID },
    id: { id: ID, signed: false },
  }],
};
