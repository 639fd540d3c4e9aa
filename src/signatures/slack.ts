/**
 * Scheme `slack` (spec 4.2, 5.2.5): `v0=<hex>` of HMAC-SHA256 over `v0:<timestamp>:<body>`. Retries
 * are signed anew, with a time of their own, so a window of five minutes never loses one.
 *
 * ```ts
 * import { slackScheme } from "./slack.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * const options = { signatureHeader: "x-slack-signature", toleranceSecs: 300 };
 * const sender = { body: new TextEncoder().encode("{}"), now: 1531420618000, url: "", id: "" };
 * const key = { name: "signing_secret", value: "8f742231b10e8888abcd99yyyzzz85a5" };
 * const headers = new Headers(await slackScheme.sign?.(sender, key, options));
 * equal(headers.get("x-slack-request-timestamp"), "1531420618");
 * const request = { ...sender, header: (name: string) => headers.get(name) ?? undefined };
 * equal((await slackScheme.verify(request, [key], options)).ok, true);
 * ```
 *
 * @module
 */

import type { HmacSpec, Scheme } from "./scheme.ts";
import { signedTimeOf, templatedHmac } from "./templated_hmac.ts";

const TIMESTAMP_HEADER = "X-Slack-Request-Timestamp";

const SPEC: HmacSpec = {
  form: { hash: "sha256", encoding: "hex", prefix: "v0=" },
  template: "v0:{timestamp}:{body}",
  timestampHeader: TIMESTAMP_HEADER.toLowerCase(),
};

/** The scheme `slack`. */
export const slackScheme: Scheme = {
  ...templatedHmac({
    name: "slack",
    defaultHeader: "X-Slack-Signature",
    timestampHeader: TIMESTAMP_HEADER,
    spec: () => SPEC,
  }),
  signedTime: signedTimeOf(() => SPEC),
};
