/**
 * Requests as GitHub sends them. Signs with Node's HMAC, never with the code under test.
 *
 * @module
 */

import { createHmac } from "node:crypto";
import { defined } from "../../src/base/defined.ts";

/** Value of `X-Hub-Signature-256` for a body. */
export function signGithub(secret: string, body: string | Uint8Array): string {
  return `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
}

/** Headers of a signed delivery, without `X-GitHub-Event` unless `event` is given. */
export function githubHeaders(
  secret: string,
  body: string | Uint8Array,
  event?: string,
): Record<string, string> {
  return {
    "content-type": "application/json",
    "user-agent": "GitHub-Hookshot/044aadd",
    "x-github-delivery": crypto.randomUUID(),
    "x-hub-signature-256": signGithub(secret, body),
    ...defined({ "x-github-event": event }),
  };
}

/** The same bytes with one changed in the middle, to another character that JSON allows. */
export function withOneByteChanged(body: Uint8Array): Uint8Array<ArrayBuffer> {
  const changed = new Uint8Array(body);
  const letter = changed.findIndex((byte, at) => at >= changed.length / 2 && isLetter(byte));
  changed[letter] = (changed[letter] ?? 0) ^ 0x20;
  return changed;
}

function isLetter(byte: number): boolean {
  return (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;
}
