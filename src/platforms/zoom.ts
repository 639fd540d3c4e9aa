/**
 * Zoom: `v0=<hex>` of HMAC-SHA256 over `v0:<timestamp>:<body>`, as Slack signs, under the secret
 * token of the app. Facts from "Using webhooks" of Zoom's developer documentation.
 * `endpoint.url_validation` comes when the URL is saved and every 72 hours after that, signed like
 * an event. It wants its `plainToken` back, and the HMAC of it. Events have no id.
 *
 * @module
 */

import { toHex, utf8 } from "../base/bytes.ts";
import { hmac } from "../signatures/hmac.ts";
import { templatedHmac } from "../signatures/templated_hmac.ts";
import { echoable, findObject, type Platform } from "./platform.ts";

/** Zoom. */
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
    // Where an interceptor verified it there is no key, and Zoom says that the answer is wrong.
    const digest = key === undefined ? undefined : hmac("sha256", key, utf8(plainToken));
    const encryptedToken = digest === undefined ? "" : toHex(digest);
    const body = JSON.stringify({ plainToken, encryptedToken });
    return { status: 200, type: "application/json", body };
  },
  docs: { signs: "time and body, `v0`", eventId: "none, so never a duplicate" },
};
