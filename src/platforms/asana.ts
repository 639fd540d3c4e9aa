/**
 * Asana: the hexadecimal HMAC-SHA256 of the exact body. Asana makes the secret: it comes as
 * `X-Hook-Secret` when a webhook is made, and has to be sent back. That is safe for everyone who asks:
 * nothing is stored, so the secret counts only once its owner, whom Asana's API tells it too, puts it
 * into the SecretStore. Events have no id. Facts from "Webhooks guide" of Asana's developer
 * documentation.
 *
 * @module
 */

import { templatedHmac } from "../signatures/templated_hmac.ts";
import type { Platform } from "./platform.ts";

/** Asana. */
export const asana: Platform = {
  name: "asana",
  title: "Asana",
  headers: ["X-Hook-Signature"],
  signature: templatedHmac({
    form: { hash: "sha256", encoding: "hex", prefix: "" },
    template: "{body}",
  }),
  auto: true,
  unsignedHandshake: {
    method: "POST",
    answer: ({ header }) => {
      const secret = header("x-hook-secret") ?? "";
      if (header("x-hook-signature") !== undefined || !/^[\w-]{1,256}$/.test(secret)) {
        return undefined;
      }
      return {
        status: 200,
        type: "text/plain",
        body: "",
        headers: { "x-hook-secret": secret },
      };
    },
  },
  docs: { signs: "body, hexadecimal", eventId: "none, so never a duplicate" },
};
