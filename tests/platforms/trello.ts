/**
 * Trello. The body is that of its documentation, shortened; the signature is that of Python's `hmac`
 * over body and URL.
 *
 * @module
 */

import type { Sample } from "./sample.ts";

const ID = "51f9424bcd6e040f3c002412";

/** Trello. */
export const sample: Sample = {
  requests: [{
    name: "trello update",
    scheme: "trello",
    header: "X-Trello-Webhook",
    secret: "a trello secret",
    body_utf8:
      `{"action":{"id":"${ID}","type":"updateCard"},"model":{"id":"4d5ea62fd76aa1136000000c"}}`,
    headers: { "X-Trello-Webhook": "Oj7IMNNLBmvbU67Fbw+HCJMNFwY=" },
    url: "https://example.com/webhook/trello?foo=1&bar=2",
    signs: { url: true },
    otherSecret: "another secret",
    signed: "own",
  }],
  handshakes: [],
  unsigned: [{ answer: [200, ""] }],
  events: [
    { payload: { action: { id: ID } }, id: { id: ID, signed: true } },
    { payload: { action: "updateCard" } },
  ],
};
