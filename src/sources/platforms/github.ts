/**
 * GitHub: `ping` when a webhook is made; the delivery id stays the same when a person redelivers.
 *
 * @module
 */

import { type Platform, PONG, unsignedKey } from "./platform.ts";

/** GitHub. */
export const github: Platform = {
  name: "github",
  greet: ({ headers }) => headers["x-github-event"] === "ping" ? PONG : undefined,
  eventKey: (request) => unsignedKey(request, "x-github-delivery"),
};
