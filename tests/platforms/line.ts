/**
 * LINE; its signature is in the fixture.
 *
 * @module
 */

import type { Sample } from "./sample.ts";

/** LINE. */
export const sample: Sample = {
  handshakes: [{ payload: { destination: "U1", events: [] }, answer: [200, '{"status":"pong"}'] }],
  events: [
    {
      payload: { destination: "U1", events: [{ type: "message", webhookEventId: "e1" }] },
      id: { id: "e1", signed: true },
    },
    { payload: { events: [] } },
    { payload: { destination: "U1", events: [null] } },
  ],
};
