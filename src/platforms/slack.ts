/**
 * Slack: `v0=<hex>` of HMAC-SHA256 over `v0:<timestamp>:<body>`. Retries are signed again with a
 * new time, so a window of five minutes loses none, and `event_id` identifies them. Slash commands
 * and interactivity are not retried and have no id. `url_verification` comes when the endpoint is
 * configured.
 *
 * ```ts
 * import { slack } from "./slack.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * const options = { signatureHeader: "x-slack-signature", toleranceSecs: 300 };
 * const sender = { body: new TextEncoder().encode("{}"), now: 1531420618000, url: "", id: "" };
 * const key = { name: "signing_secret", value: "8f742231b10e8888abcd99yyyzzz85a5" };
 * const headers = new Headers(await slack.signature.sign?.(sender, key, options));
 * equal(headers.get("x-slack-request-timestamp"), "1531420618");
 * const request = { ...sender, header: (name: string) => headers.get(name) ?? undefined };
 * equal((await slack.signature.verify(request, [key], options)).ok, true);
 * ```
 *
 * @module
 */

import { templatedHmac } from "../signatures/templated_hmac.ts";
import { nonEmptyText, payloadId, type Platform } from "./platform.ts";

/** Slack, for webhooks and for chat events. */
export const slack: Platform = {
  name: "slack",
  title: "Slack",
  headers: ["X-Slack-Signature"],
  signature: templatedHmac({
    form: { hash: "sha256", encoding: "hex", prefix: "v0=" },
    template: "v0:{timestamp}:{body}",
    timestampHeader: "X-Slack-Request-Timestamp",
  }),
  auto: true,
  handshake: (payload) => {
    const challenge = nonEmptyText(payload["challenge"]);
    if (payload["type"] !== "url_verification" || challenge === undefined) return undefined;
    return { status: 200, type: "text/plain", body: challenge };
  },
  eventId: (event) => payloadId(event.payload["event_id"], event),
  docs: { signs: "time and body, `v0`", eventId: "`event_id`" },
};
