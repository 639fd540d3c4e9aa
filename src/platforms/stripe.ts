/**
 * Stripe: the event's `id` is in the signed body and stays the same over its retries.
 *
 * @module
 */

import { payloadName, type Platform } from "./platform.ts";

/** Stripe. */
export const stripe: Platform = {
  name: "stripe",
  eventName: (event) => payloadName(event.payload["id"], event),
};
