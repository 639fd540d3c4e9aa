/**
 * Zoom. The challenge is that of its documentation; signature and answer are those of Python's
 * `hmac`.
 *
 * @module
 */

import type { Sample } from "./sample.ts";

const TOKEN = "qgg8vlvZRS6UYooatFL8Aw";
const SECRET = "the secret token";

function validation(plainToken: unknown) {
  return { event: "endpoint.url_validation", event_ts: 1654503849680, payload: { plainToken } };
}

/** Zoom. */
export const sample: Sample = {
  requests: [{
    name: "zoom event",
    scheme: "zoom",
    header: "x-zm-signature",
    secret: SECRET,
    body_utf8:
      '{"event":"meeting.started","event_ts":1700000000000,"payload":{"object":{"id":"123"}}}',
    headers: {
      "x-zm-signature": "v0=014ea194b6ef971fc8cdcd5e45eb51ec531318e4fa60d791e654e45727df2ae8",
      "x-zm-request-timestamp": "1700000000",
    },
    signs: { time: true },
    otherSecret: "another secret",
    signed: "own",
  }],
  handshakes: [{
    payload: validation(TOKEN),
    secret: SECRET,
    answer: [
      200,
      `{"plainToken":"${TOKEN}","encryptedToken":"04107fe77a2b61ff00a48b5aeeb98929f78d5c819105f572c24753afac974ba0"}`,
    ],
  }, {
    payload: validation(TOKEN),
    answer: [200, `{"plainToken":"${TOKEN}","encryptedToken":""}`],
  }],
  events: [
    { payload: { event: "meeting.started", payload: { plainToken: TOKEN } } },
    { payload: validation("<script>") },
    { payload: validation("x".repeat(1025)) },
  ],
};
