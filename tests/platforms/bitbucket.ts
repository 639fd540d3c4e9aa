/**
 * Bitbucket. The request is that of "Manage webhooks" in its documentation; its signature is that of
 * both its text and Python's `hmac`.
 *
 * @module
 */

import type { Sample } from "./sample.ts";

const ID = "ef2bb2a3-63b5-4e4a-a1f0-1b4f4ee4f3f6";

/** Bitbucket. */
export const sample: Sample = {
  requests: [
    {
      name: "bitbucket push",
      scheme: "bitbucket",
      header: "X-Hub-Signature",
      secret: "It's a Secret to Everybody",
      body_utf8: "Hello World!",
      headers: {
        "X-Hub-Signature":
          "sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9",
      },
      signs: {},
      otherSecret: "another secret",
      signed: "own",
    },
  ],
  handshakes: [{ payload: { test: true }, answer: [200, '{"status":"pong"}'] }],
  events: [
    {
      payload: { push: { changes: [] } },
      headers: { "x-request-uuid": ID },
      id: { id: ID, signed: false },
    },
    {
      payload: { eventKey: "repo:refs_changed" },
      headers: { "x-request-id": ID },
      id: { id: ID, signed: false },
    },
    { payload: { test: true, push: {} } },
    { payload: { test: "true" } },
  ],
};
