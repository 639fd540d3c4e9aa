/**
 * Standard Webhooks: the id is signed and stays the same over retries. It is that of the headers whose
 * signature was verified; where none was, that of the usual ones.
 *
 * @module
 */

import { headerName, messageName, type Platform } from "./platform.ts";

/** Senders that follow standardwebhooks.com. */
export const standardWebhooks: Platform = {
  name: "standard-webhooks",
  eventName: (event) =>
    messageName(event) ?? headerName("webhook-id", event) ?? headerName("svix-id", event),
};
