/**
 * Slack; its signature is in the fixture.
 *
 * @module
 */

import type { Sample } from "./sample.ts";

/** Slack. */
export const sample: Sample = {
  handshakes: [{ payload: { type: "url_verification", challenge: "c" }, answer: [200, "c"] }],
  events: [
    { payload: { type: "event_callback", event_id: "Ev1" }, id: { id: "Ev1", signed: true } },
    { payload: { type: "event_callback", challenge: "c" } },
    { payload: { type: "url_verification", challenge: 7 } },
    { payload: { command: "/deploy" } },
  ],
};
