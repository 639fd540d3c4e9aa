/**
 * Gitea and Forgejo: the hexadecimal HMAC-SHA256 of the JSON, without a prefix, each in its own
 * header; Forgejo sends both headers. With the content type form, the signature covers the JSON in
 * the form and not the body, so the webhook has to be set to JSON. Neither a time nor the delivery
 * id is signed. They also send GitHub's headers: a trigger for `X-Hub-Signature-256` accepts their
 * requests as GitHub's.
 *
 * @module
 */

import { templatedHmac } from "../signatures/templated_hmac.ts";
import { headerId, type Platform } from "./platform.ts";

export const gitea: Platform = {
  name: "gitea",
  title: "Gitea, Forgejo",
  headers: ["X-Gitea-Signature", "X-Forgejo-Signature"],
  signature: templatedHmac({
    form: { hash: "sha256", encoding: "hex", prefix: "" },
    template: "{body}",
  }),
  auto: true,
  headerPrefix: "x-gitea-",
  sends: { event: "X-Gitea-Event", id: "X-Gitea-Delivery" },
  eventId: (event) => headerId("x-gitea-delivery", event),
  docs: {
    signs:
      "body, hexadecimal; set the webhook to JSON, because for a form Gitea signs another text",
    eventId: "`X-Gitea-Delivery` and the body",
  },
};
