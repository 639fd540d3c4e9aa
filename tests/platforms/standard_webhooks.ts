/**
 * Standard Webhooks; its signatures are in the fixture and beside it.
 *
 * @module
 */

import type { Sample } from "./sample.ts";

/** Standard Webhooks. */
export const sample: Sample = {
  handshakes: [],
  events: [
    {
      payload: { id: 1 },
      headers: { "webhook-id": "w", "svix-id": "s" },
      messageId: "s",
      id: { id: "s", signed: true },
    },
    { payload: { id: 1 }, headers: { "svix-id": "s" }, id: { id: "s", signed: false } },
  ],
};
