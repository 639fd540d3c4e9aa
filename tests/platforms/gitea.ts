/**
 * Gitea and Forgejo. The secret and the payload are those of Gitea's documentation, shortened. The
 * signature is that of `openssl dgst -sha256 -hmac SECRET` and of Python's `hmac`, which agree:
 * Gitea writes the hexadecimal HMAC-SHA256 of the JSON it sends.
 *
 * @module
 */

import type { Sample } from "./sample.ts";

const ID = "f6266f16-1bf3-46a5-9ea4-602e06ead473";

const REQUEST = {
  scheme: "gitea",
  secret: "3gEsCfjlV2ugRwgpU#w1*WaW*wa4NXgGmpCfkbG3",
  body_utf8: '{"ref":"refs/heads/develop","after":"bffeb74224043ba2feb48d137756c8a9331c449a",' +
    '"commits":[{"message":"Grüße"}]}',
  signs: {},
  otherSecret: "another secret",
  signed: "own",
} as const;

const SIGNATURE = "a2804c51f629fd47d4e5aee2a50f212f125689a635b71497cafd413deebc020e";

/** Gitea and Forgejo. */
export const sample: Sample = {
  requests: [
    {
      ...REQUEST,
      name: "gitea push",
      header: "X-Gitea-Signature",
      headers: { "X-Gitea-Signature": SIGNATURE },
    },
    {
      ...REQUEST,
      name: "forgejo push",
      header: "X-Forgejo-Signature",
      headers: { "x-forgejo-signature": SIGNATURE },
    },
  ],
  handshakes: [],
  events: [
    {
      payload: { ref: "refs/heads/develop" },
      headers: { "x-gitea-delivery": ID, "x-github-delivery": "other" },
      id: { id: ID, signed: false },
    },
  ],
};
