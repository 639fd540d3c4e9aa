/**
 * Stripe; its signature is in the fixture.
 *
 * @module
 */

import type { Sample } from "./sample.ts";

/** Stripe. */
export const sample: Sample = {
  handshakes: [],
  events: [{ payload: { id: "evt_1" }, id: { id: "evt_1", signed: true } }],
};
