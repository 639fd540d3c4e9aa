/**
 * Meta: `X-Hub-Signature-256: sha256=<hex>` over the exact body under the app secret, as GitHub
 * signs, so a trigger has to name the scheme. When the URL is saved, a `GET` brings
 * `hub.verify_token` and `hub.challenge`. The verify token is the key of the SecretStore whose name
 * begins with `verify_token`. It travels in a URL, so it is never a key of signatures. From
 * "Getting Started" of Meta's webhooks.
 *
 * @module
 */

import { utf8 } from "../base/bytes.ts";
import type { Signature, SigningKey } from "../signatures/scheme.ts";
import { keyCannotSign, templatedHmac } from "../signatures/templated_hmac.ts";
import { findMatchingToken } from "../signatures/token.ts";
import {
  echo,
  echoable,
  findObject,
  payloadId,
  type Platform,
  type UnsignedHandshake,
} from "./platform.ts";

const hmac = templatedHmac({
  form: { hash: "sha256", encoding: "hex", prefix: "sha256=" },
  template: "{body}",
});

const signature: Signature = {
  ...hmac,
  verify: (request, keys, options) =>
    hmac.verify(request, keys.filter((key) => !isVerifyToken(key)), options),
  sign(input, key, options) {
    if (hmac.sign === undefined || isVerifyToken(key)) return Promise.reject(keyCannotSign(key));
    return hmac.sign(input, key, options);
  },
};

const unsignedHandshake: UnsignedHandshake = {
  method: "GET",
  answer({ query }, keys) {
    const challenge = echoable(query("hub.challenge"));
    const token = query("hub.verify_token");
    if (query("hub.mode") !== "subscribe" || challenge === undefined || token === undefined) {
      return undefined;
    }
    const match = findMatchingToken(utf8(token), keys, isVerifyToken);
    if (match.ok) return echo(challenge);
    const refused = match.reason === "no_usable_key"
      ? 'the SecretStore has no key "verify_token"'
      : "hub.verify_token is not the SecretStore's verify_token";
    return { refused };
  },
};

function isVerifyToken({ name }: SigningKey): boolean {
  return name.startsWith("verify_token");
}

export const meta: Platform = {
  name: "meta",
  title: "Meta (WhatsApp, Messenger, Instagram)",
  headers: [],
  sharedHeader: "X-Hub-Signature-256",
  signature,
  auto: false,
  unsignedHandshake,
  eventId: (event) => payloadId(onlyMessage(event.payload)?.["id"], event),
  docs: {
    signs: "body, like `sha256`; the key `verify_token` only checks the URL",
    eventId: "`id` of a single WhatsApp message; none for others",
  },
};

/** The message of a request that brings only one message: its status reports have the same id. */
function onlyMessage({ entry }: Readonly<Record<string, unknown>>) {
  const change = onlyObject(onlyObject(entry)?.["changes"]);
  const { messages, statuses } = findObject(change?.["value"]) ?? {};
  return statuses === undefined ? onlyObject(messages) : undefined;
}

/** The object in a list of one object. */
function onlyObject(list: unknown) {
  return Array.isArray(list) && list.length === 1 ? findObject(list[0]) : undefined;
}
