/**
 * Twilio; its signatures are in the fixture and beside it.
 *
 * @module
 */

import type { Sample } from "./sample.ts";

/** Twilio. */
export const sample: Sample = {
  handshakes: [],
  events: [{
    payload: { CallSid: "CA1" },
    headers: { "i-twilio-idempotency-token": "t" },
    id: { id: "t", signed: false },
  }],
};
