/**
 * Contentful. The request was signed by `signRequest` of `@contentful/node-apps-toolkit`.
 *
 * @module
 */

import type { Sample } from "./sample.ts";

/** Contentful. */
export const sample: Sample = {
  requests: [{
    name: "contentful entry",
    scheme: "contentful",
    header: "X-Contentful-Signature",
    secret: "a".repeat(64),
    body_utf8: '{"id":"evt_1","message":"Grüße"}',
    url: "https://hooks.example.com/webhook/contentful",
    headers: {
      "X-Contentful-Signature": "cb200d5f8e9ea5a889600695fe27894b5705ca52b6818146f063f882e8001129",
      "X-Contentful-Signed-Headers":
        "x-contentful-signed-headers,x-contentful-timestamp,x-contentful-topic",
      "X-Contentful-Timestamp": "1700000000000",
      "X-Contentful-Topic": "ContentManagement.Entry.publish",
    },
    now: 1_700_000_000,
    signs: { time: true },
    otherSecret: "b".repeat(64),
  }],
  handshakes: [],
  events: [{
    payload: { id: 1 },
    headers: { "x-contentful-idempotency-key": "k" },
    id: { id: "k", signed: false },
  }],
};
