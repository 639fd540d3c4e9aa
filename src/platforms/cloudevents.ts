/**
 * Senders of CloudEvents over HTTP: a bearer token (RFC 6750) in `Authorization`, and nothing
 * signed. Before the first event, an `OPTIONS` with `WebHook-Request-Origin` asks whether that
 * origin may send. It need not have the token, so every origin with a plain name is allowed; each
 * event has to show the token. `source` and `id` identify an event, also each event of a batch.
 * From "HTTP 1.1 Web Hooks for Event Delivery" of the CloudEvents specification.
 *
 * @module
 */

import { defined } from "../base/defined.ts";
import { mediaType } from "../base/form.ts";
import { bearerScheme } from "../signatures/bearer.ts";
import { nonEmptyText, type Platform, type UnsignedHandshake } from "./platform.ts";

/** Allows every origin with a plain name. */
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

/** Batched mode: a list of events in structured form. */
function isBatch(header: (name: string) => string | undefined): boolean {
  return mediaType(header("content-type")) === "application/cloudevents-batch+json";
}

export const cloudevents: Platform = {
  name: "cloudevents",
  title: "CloudEvents",
  headers: [],
  sharedHeader: "Authorization",
  signature: {
    shows: "token",
    verify: bearerScheme.verify,
    ...defined({ sign: bearerScheme.sign }),
  },
  auto: false,
  unsignedHandshake: allowEveryOrigin,
  body: { kind: "any", otherwiseText: true }, // in binary mode the body is the data of any type
  isBatch,
  eventId: ({ payload, header: given, isSigned }) => {
    const header = isBatch(given) ? () => undefined : given;
    const source = nonEmptyText(header("ce-source") ?? payload["source"]);
    const id = nonEmptyText(header("ce-id") ?? payload["id"]);
    if (source === undefined || id === undefined) return undefined;
    return { id: `${source} ${id}`, signed: isSigned && header("ce-id") === undefined };
  },
  docs: {
    signs: "nothing; sends the bearer token itself",
    eventId: "`source`, `id` (`ce-source`, `ce-id`) and content of each event",
  },
};
