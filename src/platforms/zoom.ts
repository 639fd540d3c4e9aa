/**
 * Zoom: `v0=<hex>` of HMAC-SHA256 over `v0:<timestamp>:<body>`, as Slack signs, under the secret
 * token of the app. `endpoint.url_validation` comes when the URL is saved and then every 72 hours,
 * signed like an event. It expects its `plainToken` back with the HMAC of that token. Events have
 * no id. From "Using webhooks" of Zoom's developer documentation.
 *
 * @module
 */

import { toHex, utf8 } from "../base/bytes.ts";
import { hmac } from "../signatures/hmac.ts";
import { templatedHmac } from "../signatures/templated_hmac.ts";
import { echoable, findObject, type Platform } from "./platform.ts";

export const zoom: Platform = {
  name: "zoom",
  title: "Zoom",
  headers: ["x-zm-signature"],
  signature: templatedHmac({
    form: { hash: "sha256", encoding: "hex", prefix: "v0=" },
    template: "v0:{timestamp}:{body}",
    timestampHeader: "x-zm-request-timestamp",
  }),
  auto: true,
  handshake: ({ event, payload }, key) => {
    const plainToken = echoable(findObject(payload)?.["plainToken"]);
    if (event !== "endpoint.url_validation" || plainToken === undefined) return undefined;
    // An interceptor verified the request without a key, so Zoom will refuse this answer.
    const digest = key === undefined ? undefined : hmac("sha256", key, utf8(plainToken));
    const encryptedToken = digest === undefined ? "" : toHex(digest);
    const body = JSON.stringify({ plainToken, encryptedToken });
    return { status: 200, type: "application/json", body };
  },
  docs: { signs: "time and body, `v0`", eventId: "none, so never a duplicate" },
};
