/**
 * GitHub: `ping` when a webhook is made; the delivery id stays the same when a person redelivers.
 *
 * @module
 */

import { findWord, headerName, type Platform, PONG } from "./platform.ts";

/** GitHub. */
export const github: Platform = {
  name: "github",
  // No other event has these two. X-GitHub-Event is not signed: it does not make a ping of a push.
  handshake: ({ zen, hook_id: hook }) =>
    findWord(zen) !== undefined && hook !== undefined ? PONG : undefined,
  eventName: (event) => headerName("x-github-delivery", event),
};
