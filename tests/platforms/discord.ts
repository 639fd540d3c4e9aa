/**
 * Discord; its signature is in the fixture.
 *
 * @module
 */

import type { Sample } from "./sample.ts";

const INTERACTION = { id: "1", token: "t", application_id: "2", version: 1 };

/** Discord. */
export const sample: Sample = {
  handshakes: [
    { payload: { ...INTERACTION, type: 1 }, answer: [200, '{"type":1,"status":"pong"}'] },
    { payload: { version: 1, application_id: "2", type: 0 }, answer: [204, ""] },
  ],
  events: [
    { payload: { ...INTERACTION, type: 2 }, id: { id: "1", signed: true } },
    { payload: { version: 1, application_id: "2", type: 1, event: { type: "X" } } },
    { payload: { type: 1 } },
    { payload: { type: 0 } },
  ],
};
