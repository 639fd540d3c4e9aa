/**
 * CloudEvents. Origin and rate are those of the specification's example; the token is that of RFC
 * 6750.
 *
 * @module
 */

import type { Sample } from "./sample.ts";

/** CloudEvents. */
export const sample: Sample = {
  requests: [{
    name: "cloudevents structured",
    scheme: "cloudevents",
    header: "Authorization",
    secret: "mF_9.B5f-4.1JqM",
    body_utf8: '{"specversion":"1.0","id":"A234","source":"/mycontext","type":"com.example"}',
    headers: { Authorization: "Bearer mF_9.B5f-4.1JqM" },
    signs: { body: false },
    otherSecret: "another-secret",
    signed: "own",
  }],
  handshakes: [],
  unsigned: [
    {
      headers: { "webhook-request-origin": "eventemitter.example.com" },
      answer: [200, "", {
        "webhook-allowed-origin": "eventemitter.example.com",
        "webhook-allowed-rate": "*",
        allow: "POST",
      }],
    },
    { headers: { "webhook-request-origin": "a\r\nset-cookie: b" } },
    { headers: { "webhook-request-origin": "a".repeat(254) } },
    { headers: { origin: "https://example.com", "access-control-request-method": "POST" } },
  ],
  events: [
    { payload: { source: "/a", id: "1" }, id: { id: "/a 1", signed: true } },
    {
      payload: { other: true },
      headers: { "ce-source": "/a", "ce-id": "1" },
      id: { id: "/a 1", signed: false },
    },
    { payload: { id: "1" } },
  ],
};
