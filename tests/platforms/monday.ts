/**
 * monday.com. The claims are those of its documentation; the token was made with Python's `hmac`.
 *
 * @module
 */

import type { Sample } from "./sample.ts";

const UUID = "b5ed2e17c530f43668de130142445cba";
const CHALLENGE = "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P";

/** monday.com. */
export const sample: Sample = {
  requests: [{
    name: "monday event",
    scheme: "monday",
    header: "Authorization",
    secret: "monday signing secret",
    body_utf8: `{"event":{"type":"create_pulse","pulseId":1,"triggerUuid":"${UUID}"}}`,
    headers: {
      Authorization: "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9." +
        "eyJhY2NvdW50SWQiOjE4MjU1MjksInVzZXJJZCI6NDAxMjY4OSwiYXVkIjoiaHR0cHM6Ly9zdmMuZXhhbXBsZS93ZWJo" +
        "b29rL3QiLCJleHAiOjE3MDAwMDAzMDAsImlhdCI6MTcwMDAwMDAwMH0." +
        "sPcgp6q3WjabCiQGsXMtsyYEibq6EW1jH2OgX6J5AVg",
    },
    now: 1_700_000_000,
    signs: { body: false, time: "in the body" },
    otherSecret: "another secret",
  }],
  handshakes: [],
  unsigned: [
    {
      body: `{"challenge":"${CHALLENGE}"}`,
      answer: [200, `{"challenge":"${CHALLENGE}"}`],
    },
    { body: `{"challenge":"${CHALLENGE}","event":{}}` },
    { body: `{"challenge":"${CHALLENGE}"}${" ".repeat(1024)}` },
    { body: '{"challenge":"a b"}' },
    { body: "\u{fffd}" },
    {},
  ],
  events: [
    { payload: { event: { triggerUuid: UUID } }, id: { id: UUID, signed: true } },
    { payload: { event: { pulseId: 1 } } },
  ],
};
