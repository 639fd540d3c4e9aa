/**
 * PagerDuty: `v1=<hex>` of HMAC-SHA256 over the exact body, one for each secret while a secret is
 * changed. "Send Test Event" sends the event `pagey.ping`, signed like every other. From "Verifying
 * signatures" and "Webhooks overview" of PagerDuty's developer documentation.
 *
 * @module
 */

import { templatedHmac } from "../signatures/templated_hmac.ts";
import { findObject, payloadId, type Platform, PONG } from "./platform.ts";

export const pagerduty: Platform = {
  name: "pagerduty",
  title: "PagerDuty",
  headers: ["X-PagerDuty-Signature"],
  signature: templatedHmac({
    form: { hash: "sha256", encoding: "hex", prefix: "v1=", separator: "," },
    template: "{body}",
  }),
  auto: true,
  handshake: ({ event }) => findObject(event)?.["event_type"] === "pagey.ping" ? PONG : undefined,
  eventId: (event) => payloadId(findObject(event.payload["event"])?.["id"], event),
  docs: { signs: "body, any of several `v1`", eventId: "`event.id`" },
};
