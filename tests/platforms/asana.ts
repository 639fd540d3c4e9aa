/**
 * Asana. The secret is that of its documentation; the signature is that of Python's `hmac`.
 *
 * @module
 */

import type { Sample } from "./sample.ts";

const SECRET = "b537207f20cbfa02357cf448134da559e8bd39d61597dcd5631b8012eae53e81";

/** Asana. */
export const sample: Sample = {
  requests: [{
    name: "asana event",
    scheme: "asana",
    header: "X-Hook-Signature",
    secret: SECRET,
    body_utf8: '{"events":[{"action":"changed","resource":{"gid":"1337","resource_type":"task"}}]}',
    headers: {
      "X-Hook-Signature": "ea041544664f4f2cd966d54305d61d88a66beba19a228de211ca0d50eaf4f21f",
    },
    signs: {},
    otherSecret: "another secret",
    signed: "own",
  }],
  handshakes: [],
  unsigned: [
    { headers: { "x-hook-secret": SECRET }, answer: [200, "", { "x-hook-secret": SECRET }] },
    { headers: { "x-hook-secret": "a\r\nset-cookie: b" } },
    { headers: { "x-hook-secret": "a".repeat(257) } },
    { headers: { "x-hook-secret": SECRET, "x-hook-signature": "00" } },
    {},
  ],
  events: [{ payload: { events: [] } }],
};
