/**
 * Senders of CloudEvents over HTTP: a bearer token (RFC 6750) in `Authorization`, and nothing signed.
 * Before the first event an `OPTIONS` with `WebHook-Request-Origin` asks whether its origin may send;
 * the token need not be in it, so every origin with a plain name may, and still has to show the token
 * with each event. `source` and `id` name an event. Facts from "HTTP 1.1 Web Hooks for Event Delivery"
 * of the CloudEvents specification.
 *
 * @module
 */

import { bearerScheme } from "../signatures/bearer.ts";
import { nonEmptyText, type Platform, type UnsignedHandshake } from "./platform.ts";

/** Lets every origin with a plain name send. */
export const allowEveryOrigin: UnsignedHandshake = {
  method: "OPTIONS",
  answer: ({ header }) => {
    const origin = header("webhook-request-origin") ?? "";
    if (!/^[A-Za-z0-9.-]{1,253}$/.test(origin)) return undefined;
    const headers = {
      "webhook-allowed-origin": origin,
      "webhook-allowed-rate": "*",
      allow: "POST",
    };
    return { status: 200, type: "text/plain", body: "", headers };
  },
};

/** CloudEvents. */
export const cloudevents: Platform = {
  name: "cloudevents",
  title: "CloudEvents",
  headers: [],
  sharedHeader: "Authorization",
  signature: {
    shows: "token",
    verify: bearerScheme.verify,
    ...(bearerScheme.sign === undefined ? {} : { sign: bearerScheme.sign }),
  },
  auto: false,
  unsignedHandshake: allowEveryOrigin,
  body: { kind: "any" },
  eventId: ({ payload, header, isSigned }) => {
    const source = nonEmptyText(header("ce-source") ?? payload["source"]);
    const id = nonEmptyText(header("ce-id") ?? payload["id"]);
    if (source === undefined || id === undefined) return undefined;
    return { id: `${source} ${id}`, signed: isSigned && header("ce-id") === undefined };
  },
  docs: {
    signs: "nothing: the bearer token itself",
    eventId: "`source` and `id` (`ce-source` and `ce-id`), and the body",
  },
};
