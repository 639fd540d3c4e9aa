/**
 * Notion: `sha256=<hex>` over the exact body, under the verification token of the subscription. The
 * first request brings that token unsigned, for a person who enters it at Notion. svc records it
 * (`svc delivery show`) and never uses it by itself, because a stranger could send a token and sign
 * with it. Once the SecretStore has such a token, another one is refused. From "Webhooks" of
 * Notion's API reference.
 *
 * @module
 */

import { findText } from "../base/bytes.ts";
import { templatedHmac } from "../signatures/templated_hmac.ts";
import { MAX_UNSIGNED_BYTES, payloadId, type Platform, PONG } from "./platform.ts";

const TOKEN_ALONE = /^\s*\{\s*"verification_token"\s*:\s*"[\w-]{1,256}"\s*\}\s*$/;

export const notion: Platform = {
  name: "notion",
  title: "Notion",
  headers: ["X-Notion-Signature"],
  signature: templatedHmac({
    form: { hash: "sha256", encoding: "hex", prefix: "sha256=" },
    template: "{body}",
  }),
  auto: true,
  unsignedHandshake: {
    method: "POST",
    answer: ({ body, header }, keys) => {
      if (header("x-notion-signature") !== undefined) return undefined;
      const text = body.length > MAX_UNSIGNED_BYTES ? undefined : findText(body);
      if (text === undefined || !TOKEN_ALONE.test(text)) return undefined;
      if (!keys.some(({ value }) => value.startsWith("secret_"))) return PONG;
      return { refused: "the SecretStore has a verification token of Notion already" };
    },
  },
  eventId: (event) => payloadId(event.payload["id"], event),
  docs: { signs: "body, like `sha256`", eventId: "`id`" },
};
