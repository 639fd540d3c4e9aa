/**
 * Trello: base64 of HMAC-SHA1 over the body and then the callback URL, so behind a proxy the
 * trigger needs its `publicUrl`. The key is the secret of the Power-Up. When a webhook is made, a
 * `HEAD` comes and expects 200; nothing in it authenticates the sender, and the answer tells
 * nothing. From "Webhooks" of Trello's REST API guide.
 *
 * @module
 */

import { templatedHmac } from "../signatures/templated_hmac.ts";
import { echo, findObject, payloadId, type Platform } from "./platform.ts";

export const trello: Platform = {
  name: "trello",
  title: "Trello",
  headers: ["X-Trello-Webhook"],
  signature: templatedHmac({
    form: { hash: "sha1", encoding: "base64", prefix: "" },
    template: "{body}{url}",
  }),
  auto: false,
  unsignedHandshake: { method: "HEAD", answer: () => echo("") },
  eventId: (event) => payloadId(findObject(event.payload["action"])?.["id"], event),
  docs: {
    signs: "body and URL; SHA-1, so name the scheme",
    eventId: "`action.id`",
  },
};
