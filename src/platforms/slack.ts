/**
 * Slack: `url_verification` when the endpoint is entered; retries are signed anew with a new time,
 * so only `event_id` tells them. Slash commands and interactivity are not retried and have no id.
 *
 * @module
 */

import { findWord, payloadName, type Platform } from "./platform.ts";

/** Slack. */
export const slack: Platform = {
  name: "slack",
  handshake: (payload) => {
    const challenge = findWord(payload["challenge"]);
    if (payload["type"] !== "url_verification" || challenge === undefined) return undefined;
    return { status: 200, type: "text/plain", body: challenge };
  },
  eventName: (event) => payloadName(event.payload["event_id"], event),
};
