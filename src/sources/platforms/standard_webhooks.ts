/**
 * Standard Webhooks: `webhook-id` (`svix-id`) is signed and stays the same over retries.
 *
 * @module
 */

import { keyText, type Platform } from "./platform.ts";

/** Senders that follow standardwebhooks.com. */
export const standardWebhooks: Platform = {
  name: "standard-webhooks",
  eventKey: ({ headers }) => keyText(headers["webhook-id"] ?? headers["svix-id"]),
};
