/**
 * Twilio: `I-Twilio-Idempotency-Token` stays the same over its retries; the signature does not
 * cover it.
 *
 * @module
 */

import { type Platform, unsignedKey } from "./platform.ts";

/** Twilio. */
export const twilio: Platform = {
  name: "twilio",
  eventKey: (request) => unsignedKey(request, "i-twilio-idempotency-token"),
};
