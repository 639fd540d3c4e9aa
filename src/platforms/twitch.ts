/**
 * Twitch EventSub: `sha256=<hex>` of HMAC-SHA256 over message id, time and body, without
 * separators. The message id stays the same in retries. When a subscription is made, a `challenge`
 * comes, signed like an event, and expects that text back. The header with the type of the message
 * is not signed, so only the body decides. From "Handling Webhook Events" of Twitch's developer
 * documentation.
 *
 * @module
 */

import { rfc3339 } from "../base/clock.ts";
import { covering, type Signature } from "../signatures/scheme.ts";
import { templatedHmac } from "../signatures/templated_hmac.ts";
import { findTime } from "../signatures/timestamp.ts";
import { echo, echoable, findObject, type Platform, signedId } from "./platform.ts";

const ID_HEADER = "twitch-eventsub-message-id";

const hmac = templatedHmac({
  form: { hash: "sha256", encoding: "hex", prefix: "sha256=" },
  template: `{header:${ID_HEADER}}{timestamp}{body}`,
  timestampHeader: "Twitch-Eventsub-Message-Timestamp",
  findTime,
  writeTime: rfc3339,
});

const signature: Signature = {
  ...hmac,
  async verify(request, keys, options) {
    const verdict = await hmac.verify(request, keys, options);
    const messageId = request.header(ID_HEADER);
    if (!verdict.ok || messageId === undefined) return verdict;
    return covering(verdict, { content: request.body, messageId });
  },
};

export const twitch: Platform = {
  name: "twitch",
  title: "Twitch",
  headers: ["Twitch-Eventsub-Message-Signature"],
  signature,
  auto: false, // its form is that of sha256, which signs the body alone
  handshake: ({ challenge, subscription, event }) => {
    const text = echoable(challenge);
    const isChallenge = findObject(subscription) !== undefined && event === undefined;
    return isChallenge && text !== undefined ? echo(text) : undefined;
  },
  sends: { event: "Twitch-Eventsub-Subscription-Type" }, // the signed id comes with the signature
  eventId: signedId,
  docs: { signs: "id, time and body; name the scheme", eventId: "`Twitch-Eventsub-Message-Id`" },
};
