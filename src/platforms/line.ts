/**
 * LINE: an empty list of events when the URL is verified; otherwise any number of events in one
 * request, each with its own id, which stays the same when LINE redelivers.
 *
 * @module
 */

import { isJsonObject } from "../base/json.ts";
import { findWord, payloadName, type Platform, PONG } from "./platform.ts";

/** LINE. */
export const line: Platform = {
  name: "line",
  handshake: ({ destination, events }) =>
    findWord(destination) !== undefined && Array.isArray(events) && events.length === 0
      ? PONG
      : undefined,
  eventList: "events",
  eventName: (one) => {
    const { events } = one.payload;
    const [event]: unknown[] = Array.isArray(events) ? events : [];
    return isJsonObject(event) ? payloadName(event["webhookEventId"], one) : undefined;
  },
};
