/**
 * Twilio: `I-Twilio-Idempotency-Token` stays the same over its retries; the signature does not
 * cover it.
 *
 * @module
 */

import { headerName, type Platform } from "./platform.ts";

/** Twilio. */
export const twilio: Platform = {
  name: "twilio",
  eventName: (event) => headerName("i-twilio-idempotency-token", event),
};
