/**
 * The header in which most platforms name the event of a request, recognised by its own name:
 * `X-GitHub-Event`, `X-Shopify-Topic`, `X-Event-Key`, `ce-type` … No signature covers it, so it is
 * shown to people and decides nothing. Pure: the page in the browser also uses it.
 *
 * ```ts
 * import { eventHeader, eventOf } from "./event_header.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * equal(eventHeader(["host", "x-github-event"]), "x-github-event");
 * equal(eventOf({ "x-github-event": "pull_request" }), "pull_request");
 * equal(eventOf({ host: "svc.internal" }), "");
 * ```
 *
 * @module
 */

const NAMES_EVENT = /(?:^|-)(?:event|topic|event-key|subscription-type)$|^ce-type$/i;

/** The header that names the event of a request; `undefined` without one. */
export function eventHeader(names: readonly string[]): string | undefined {
  return names.find((name) => NAMES_EVENT.test(name));
}

/** The event that headers name; empty without such a header. */
export function eventOf(headers: Readonly<Record<string, string>>): string {
  const name = eventHeader(Object.keys(headers));
  return name === undefined ? "" : headers[name] ?? "";
}
