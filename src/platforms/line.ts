/**
 * LINE: base64 of HMAC-SHA256 over the exact body, under the channel secret as text: it looks like
 * hexadecimal and is not decoded. No time is signed. When the URL is verified, an empty list of
 * events comes. Other requests bring one or more events, each with an id that stays the same when
 * LINE redelivers.
 *
 * @module
 */

import { templatedHmac } from "../signatures/templated_hmac.ts";
import { nonEmptyText, payloadId, type Platform, PONG } from "./platform.ts";

export const line: Platform = {
  name: "line",
  title: "LINE",
  headers: ["X-Line-Signature"],
  signature: templatedHmac({
    form: { hash: "sha256", encoding: "base64", prefix: "" },
    template: "{body}",
  }),
  auto: true,
  handshake: ({ destination, events }) =>
    nonEmptyText(destination) !== undefined && Array.isArray(events) && events.length === 0
      ? PONG
      : undefined,
  eventList: "events",
  eventId: (one) => {
    const { events } = one.payload;
    const [event]: unknown[] = Array.isArray(events) ? events : [];
    const isObject = typeof event === "object" && event !== null && "webhookEventId" in event;
    return isObject ? payloadId(event.webhookEventId, one) : undefined;
  },
  docs: { signs: "body, base64", eventId: "`webhookEventId` of each event" },
};
