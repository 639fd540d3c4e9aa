/**
 * Notion. Ids and token are those of its documentation, shortened; the signature is that of Python's
 * `hmac`.
 *
 * @module
 */

import type { Sample } from "./sample.ts";

const ID = "367cba44-b6f3-4c92-81e7-6a2e9659efd4";
const TOKEN = "secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl";

/** Notion. */
export const sample: Sample = {
  requests: [{
    name: "notion page",
    scheme: "notion",
    header: "X-Notion-Signature",
    secret: TOKEN,
    body_utf8:
      '{"id":"367cba44-b6f3-4c92-81e7-6a2e9659efd4","type":"page.created","entity":{"id":"153104cd"}}',
    headers: {
      "X-Notion-Signature":
        "sha256=64b476f13fc71705cb3ca1f068768ce1cfc7ac510feea6e56f2de37ee789af93",
    },
    signs: {},
    otherSecret: "another secret",
    signed: "own",
  }],
  handshakes: [],
  unsigned: [
    { body: `{"verification_token":"${TOKEN}"}`, answer: [200, '{"status":"pong"}'] },
    {
      body: `{ "verification_token": "${TOKEN}" }`,
      data: { placeholder: "to be replaced" },
      answer: [200, '{"status":"pong"}'],
    },
    {
      body: '{"verification_token":"secret_of_a_stranger"}',
      data: { token: TOKEN },
      answer: "the SecretStore has a verification token of Notion already",
    },
    { body: `{"verification_token":"${TOKEN}"}`, headers: { "x-notion-signature": "sha256=00" } },
    { body: `{"verification_token":"${TOKEN}","type":"page.created"}` },
    { body: `{"verification_token":"${"a".repeat(2000)}"}` },
    { body: '{"verification_token":"<script>"}' },
  ],
  events: [{ payload: { id: ID }, id: { id: ID, signed: true } }],
};
