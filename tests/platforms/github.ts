/**
 * GitHub; its signature is in the fixture.
 *
 * @module
 */

import type { Sample } from "./sample.ts";

const ID = "72d3162e-cc78-11e3-81ab-4c9367dc0958";

/** GitHub. */
export const sample: Sample = {
  handshakes: [{
    payload: { zen: "Keep it logically awesome.", hook_id: 1, hook: { type: "Repository" } },
    answer: [200, '{"status":"pong"}'],
  }],
  events: [
    {
      payload: { ref: "refs/heads/main" },
      headers: { "x-github-delivery": ID },
      id: { id: ID, signed: false },
    },
    { payload: { zen: "Design for failure." } },
  ],
};
