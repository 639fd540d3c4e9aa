/**
 * Discord: interactions of type 1 are a PING and want a PONG of type 1; each other has an `id`.
 *
 * @module
 */

import { keyText, type Platform } from "./platform.ts";

/** What Discord accepts as PONG; it ignores what else is in the object. */
const DISCORD_PONG = '{"type":1,"status":"pong"}';

/** Discord. */
export const discord: Platform = {
  name: "discord",
  greet: ({ payload }) =>
    payload["type"] === 1 ? { type: "application/json", body: DISCORD_PONG } : undefined,
  eventKey: ({ payload }) => keyText(payload["id"]),
};
