/**
 * Asana: the hexadecimal HMAC-SHA256 of the exact body. Asana makes the secret and sends it as
 * `X-Hook-Secret` when a webhook is made; the answer repeats it. A stranger may get his header
 * back, too: nothing is stored, so a secret counts only after the operator, who gets it from
 * Asana's API, puts it into the SecretStore. Events have no id. From "Webhooks guide" of Asana's
 * developer documentation.
 *
 * @module
 */

import { templatedHmac } from "../signatures/templated_hmac.ts";
import type { Platform } from "./platform.ts";

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
