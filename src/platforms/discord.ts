/**
 * Discord, which signs two sorts of requests. Interactions: one of type 1 is a PING and wants a PONG
 * of type 1; each has an `id`. Webhook events: there type 0 is the PING and wants an empty 204, type 1
 * is an event; they have no id.
 *
 * @module
 */

import { findWord, payloadName, type Platform } from "./platform.ts";

/** What Discord accepts as PONG; it ignores what else is in the object. */
const DISCORD_PONG = '{"type":1,"status":"pong"}';

/** Discord. */
export const discord: Platform = {
  name: "discord",
  handshake: (payload) => {
    const { type } = payload;
    if (payload["event"] !== undefined || findWord(payload["application_id"]) === undefined) {
      return undefined;
    }
    const isInteraction = findWord(payload["id"]) !== undefined &&
      findWord(payload["token"]) !== undefined;
    if (type === 1 && isInteraction) {
      return { status: 200, type: "application/json", body: DISCORD_PONG };
    }
    return type === 0 && !isInteraction ? { status: 204 } : undefined;
  },
  eventName: (event) => payloadName(event.payload["id"], event),
};
