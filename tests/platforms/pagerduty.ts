/**
 * PagerDuty. The signature is that of Python's `hmac`.
 *
 * @module
 */

import type { Sample } from "./sample.ts";

const ID = "01BBYA6PU9KAF8GZ3Z8ZZKZ8VW";
const DIGEST = "7cd383a0940c243f3ef5bdc0e849bf569fb9371e099acf48de936994c322b7d7";

/** PagerDuty. */
export const sample: Sample = {
  requests: [{
    name: "pagerduty incident",
    scheme: "pagerduty",
    header: "X-PagerDuty-Signature",
    secret: "pagerduty secret",
    body_utf8: `{"event":{"id":"${ID}","event_type":"incident.triggered"}}`,
    headers: { "X-PagerDuty-Signature": `v1=${DIGEST}` },
    signs: {},
    otherSecret: "another secret",
    signed: "own",
  }],
  handshakes: [{
    payload: {
      event: {
        id: ID,
        event_type: "pagey.ping",
        data: { message: "Hello from your friend Pagey!", type: "ping" },
      },
    },
    answer: [200, '{"status":"pong"}'],
  }],
  events: [
    {
      payload: { event: { id: ID, event_type: "incident.triggered" } },
      id: { id: ID, signed: true },
    },
    { payload: { event: { event_type: "incident.triggered" } } },
  ],
};
