/**
 * Dropbox. The body is that of its documentation, shortened; the signature is that of Python's `hmac`.
 *
 * @module
 */

import type { Sample } from "./sample.ts";

/** Dropbox. */
export const sample: Sample = {
  requests: [{
    name: "dropbox notification",
    scheme: "dropbox",
    header: "X-Dropbox-Signature",
    secret: "the app secret",
    body_utf8:
      '{"list_folder":{"accounts":["dbid:AAH4f99T0taONIb-OurWxbNQ6ywGRopQngc"]},"delta":{"users":[12345678]}}',
    headers: {
      "X-Dropbox-Signature": "42d7b59d7d5e6f5a3690e912c5827cd0b9a7d3e9c2b667039255ca12210b4bda",
    },
    signs: {},
    otherSecret: "another secret",
    signed: "own",
  }],
  handshakes: [],
  unsigned: [
    { query: "?challenge=q7eTwRVsH4", answer: [200, "q7eTwRVsH4"] },
    {},
  ],
  events: [{ payload: { challenge: "q7eTwRVsH4" } }],
};
