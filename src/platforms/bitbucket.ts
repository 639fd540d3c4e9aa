/**
 * Bitbucket, Cloud and Data Center: `X-Hub-Signature: sha256=<hex>` over the exact body. GitHub
 * signs that header with SHA-1, so a trigger has to name the scheme. "Test connection" of Data
 * Center sends `{"test": true}`, signed like an event; the header that calls it `diagnostics:ping`
 * is not signed. From "Manage webhooks" of Bitbucket's documentation.
 *
 * @module
 */

import { templatedHmac } from "../signatures/templated_hmac.ts";
import { headerId, type Platform, PONG } from "./platform.ts";

export const bitbucket: Platform = {
  name: "bitbucket",
  title: "Bitbucket (Cloud, Data Center)",
  headers: [],
  sharedHeader: "X-Hub-Signature",
  signature: templatedHmac({
    form: { hash: "sha256", encoding: "hex", prefix: "sha256=" },
    template: "{body}",
  }),
  auto: false,
  handshake: (payload) =>
    payload["test"] === true && Object.keys(payload).length === 1 ? PONG : undefined,
  sends: { event: "X-Event-Key", id: "X-Request-UUID" },
  eventId: (event) => headerId("x-request-uuid", event) ?? headerId("x-request-id", event),
  docs: {
    signs: "body, like `sha256`",
    eventId: "`X-Request-UUID` (`X-Request-Id` of Data Center) and the body",
  },
};
