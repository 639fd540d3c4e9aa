/**
 * Slack: `url_verification` when the endpoint is entered; retries are signed anew with a new time,
 * so only `event_id` tells them. Slash commands and interactivity are not retried and have no id.
 *
 * @module
 */

import { keyText, type Platform } from "./platform.ts";

/** Slack. */
export const slack: Platform = {
  name: "slack",
  greet: ({ payload }) => {
    const challenge = keyText(payload["challenge"]);
    if (payload["type"] !== "url_verification" || challenge === undefined) return undefined;
    return { type: "text/plain", body: challenge };
  },
  eventKey: ({ payload }) => keyText(payload["event_id"]),
};
