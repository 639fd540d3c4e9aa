/**
 * Requests as GitLab sends them where a webhook has a signing token. Signs with Node's HMAC, never with
 * the code under test.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";

/** A signing token: the key of Standard Webhooks in base64. */
export const SIGNING_TOKEN = `whsec_${
  Buffer.from("thirty-two bytes of signing key!").toString("base64")
}`;

/** Headers of a signed delivery. */
export function gitlabHeaders(
  token: string,
  body: string,
  event: string,
  now: number = Date.now(),
): Record<string, string> {
  const id = crypto.randomUUID();
  const time = String(Math.floor(now / 1000));
  const key = Buffer.from(token.replace(/^whsec_/, ""), "base64");
  const mac = createHmac("sha256", key).update(`${id}.${time}.${body}`).digest("base64");
  return {
    "content-type": "application/json",
    "user-agent": "GitLab/18.6.0",
    "x-gitlab-event": event,
    "x-gitlab-event-uuid": crypto.randomUUID(),
    "idempotency-key": id,
    "webhook-id": id,
    "webhook-timestamp": time,
    "webhook-signature": `v1,${mac}`,
  };
}
