/**
 * LINE: an empty list of events when the URL is verified; otherwise any number of events in one
 * request, each with its own id, which stays the same when LINE redelivers.
 *
 * @module
 */

import { isJsonObject } from "../../base/json.ts";
import { keyText, type Platform, PONG } from "./platform.ts";

/** LINE. */
export const line: Platform = {
  name: "line",
  greet: ({ payload: { events } }) =>
    Array.isArray(events) && events.length === 0 ? PONG : undefined,
  split: (payload) => {
    const { events } = payload;
    if (!Array.isArray(events) || events.length < 2) return [payload];
    return events.map((event: unknown) => ({ ...payload, events: [event] }));
  },
  eventKey: ({ payload: { events } }) => {
    const [event]: unknown[] = Array.isArray(events) ? events : [];
    return isJsonObject(event) ? keyText(event["webhookEventId"]) : undefined;
  },
};
