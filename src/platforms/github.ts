/**
 * GitHub: `X-Hub-Signature-256: sha256=<hex>` over the exact body, form-encoded or JSON. `X-Hub-
 * Signature` with SHA-1, which it also sends, is ignored. Headers are not signed: `X-GitHub-Event`
 * and `X-GitHub-Delivery` of a captured request can be changed. A `ping` comes when a webhook is
 * created; the delivery id stays the same when a person redelivers.
 *
 * @module
 */

import { templatedHmac } from "../signatures/templated_hmac.ts";
import { headerId, nonEmptyText, type Platform, PONG } from "./platform.ts";

export const github: Platform = {
  name: "github",
  title: "GitHub",
  headers: ["X-Hub-Signature-256"],
  signature: templatedHmac({
    form: { hash: "sha256", encoding: "hex", prefix: "sha256=" },
    template: "{body}",
  }),
  auto: true,
  // No other event has both. X-GitHub-Event is not signed, so it cannot tell a ping from a push.
  handshake: ({ zen, hook_id: hook }) =>
    nonEmptyText(zen) !== undefined && hook !== undefined ? PONG : undefined,
  sends: { event: "X-GitHub-Event", id: "X-GitHub-Delivery" },
  eventId: (event) => headerId("x-github-delivery", event),
  docs: { signs: "body, like `sha256`", eventId: "`X-GitHub-Delivery` and the body" },
};
