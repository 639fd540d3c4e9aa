/**
 * Dropbox: the hexadecimal HMAC-SHA256 of the exact body under the app secret. When the URL is
 * saved, a `GET` with `challenge` comes and expects it back; nothing in it authenticates the
 * sender. Events have no id: they only name the users whose files changed. From "Webhooks" of
 * Dropbox' developer reference.
 *
 * @module
 */

import { templatedHmac } from "../signatures/templated_hmac.ts";
import { echo, echoable, type Platform } from "./platform.ts";

export const dropbox: Platform = {
  name: "dropbox",
  title: "Dropbox",
  headers: ["X-Dropbox-Signature"],
  signature: templatedHmac({
    form: { hash: "sha256", encoding: "hex", prefix: "" },
    template: "{body}",
  }),
  auto: true,
  unsignedHandshake: {
    method: "GET",
    answer: ({ query }) => {
      const challenge = echoable(query("challenge"));
      return challenge === undefined ? undefined : echo(challenge);
    },
  },
  docs: { signs: "body, hexadecimal", eventId: "none, so never a duplicate" },
};
