/**
 * Headers as platforms send them. Signs with Node's own functions, never with the code under test.
 *
 * @module
 */

import { strictEqual as equal } from "node:assert/strict";
import { createHmac, generateKeyPairSync, sign as signWith } from "node:crypto";
import { SECRET } from "../rigs/webhook_rig.ts";

/** Content type of a form. */
export const FORM = "application/x-www-form-urlencoded";

const JSON_TYPE = "application/json";

/** HMAC under the secret of the rig's manifest. */
export function mac(
  data: string,
  encoding: "hex" | "base64",
  hash = "sha256",
  key: string | Uint8Array = SECRET,
): string {
  return createHmac(hash, key).update(data).digest(encoding);
}

/** GitHub, and platforms that sign as it does. */
export function github(body: string, type = JSON_TYPE): Record<string, string> {
  return { "x-hub-signature-256": `sha256=${mac(body, "hex")}`, "content-type": type };
}

export function line(body: string): Record<string, string> {
  return { "x-line-signature": mac(body, "base64"), "content-type": JSON_TYPE };
}

/** Slack; `at` in milliseconds. */
export function slack(body: string, at: number, type = JSON_TYPE): Record<string, string> {
  const time = String(Math.floor(at / 1000));
  return {
    "x-slack-signature": `v0=${mac(`v0:${time}:${body}`, "hex")}`,
    "x-slack-request-timestamp": time,
    "content-type": type,
  };
}

/** Standard Webhooks under headers that begin with `family`. */
export function standard(
  body: string,
  { id, at, family = "webhook" }: { id: string; at: number; family?: string },
): Record<string, string> {
  const time = String(Math.floor(at / 1000));
  const key = new TextEncoder().encode(STANDARD_TEXT);
  return {
    [`${family}-id`]: id,
    [`${family}-timestamp`]: time,
    [`${family}-signature`]: `v1,${mac(`${id}.${time}.${body}`, "base64", "sha256", key)}`,
    "content-type": JSON_TYPE,
  };
}

const STANDARD_TEXT = "twenty-four bytes of key";

/** The secret that {@linkcode standard} signs with, as it stands in a SecretStore. */
export const STANDARD_SECRET = `whsec_${btoa(STANDARD_TEXT)}`;

/** Twilio; `text` is what is signed: the URL, and the fields behind it. */
export function twilio(text: string, type = FORM, hash = "sha1"): Record<string, string> {
  return { "x-twilio-signature": mac(text, "base64", hash), "content-type": type };
}

const { publicKey, privateKey } = generateKeyPairSync("ed25519");

/** The public key of {@linkcode discord}, as it stands in a SecretStore. */
export const DISCORD_KEY = publicKey.export({ type: "spki", format: "der" }).subarray(-32)
  .toString("hex");

/** Discord; `at` in milliseconds. */
export function discord(body: string, at: number): Record<string, string> {
  const time = String(Math.floor(at / 1000));
  return {
    "x-signature-ed25519": signWith(null, new TextEncoder().encode(time + body), privateKey)
      .toString("hex"),
    "x-signature-timestamp": time,
    "content-type": JSON_TYPE,
  };
}

/** Fails unless a response is 200; returns its JSON. */
export async function answerOf(
  response: Response | Promise<Response>,
): Promise<Record<string, unknown>> {
  const answer = await response;
  equal(answer.status, 200, await answer.clone().text());
  return await answer.json();
}
