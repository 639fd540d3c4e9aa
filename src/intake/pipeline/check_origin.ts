/**
 * Checks the origin of a request beside its signature: the addresses of `allowFrom`, and for unsigned
 * requests that no web page has sent them.
 *
 * @module
 */

import { cidrMatcher } from "../../base/cidr.ts";
import { unauthorized } from "../../base/errors.ts";
import type { WebhookSpec } from "../../resources/event_webhook.ts";

/** Most ranges of addresses that a refusal names. */
const MAX_RANGES = 4;

/**
 * Refuses a sender whose address is not in `allowFrom`.
 *
 * @throws {AppError} `unauthorized`.
 */
export function checkAddress(webhook: WebhookSpec, remote: string): void {
  if (webhook.allowFrom === undefined) return;
  if (cidrMatcher(webhook.allowFrom)(remote)) return;
  const ranges = webhook.allowFrom.slice(0, MAX_RANGES).join(", ");
  const more = webhook.allowFrom.length - MAX_RANGES;
  const others = more > 0 ? ` and ${more} more` : "";
  throw unauthorized(`${remote} is not in allowFrom (${ranges}${others})`);
}

/**
 * A web page may not fire an unsigned trigger through its visitor's browser, which can reach
 * addresses that the page's author cannot. The `Host` of the browser proves nothing: the owner of
 * any name can have it point here. Only pages of `publicUrl`, which the manifest names, may.
 *
 * @throws {AppError} `unauthorized`.
 */
export function checkNoPage(headers: Readonly<Record<string, string>>, webhook: WebhookSpec): void {
  const { origin, "sec-fetch-site": site = "none" } = headers;
  const own = webhook.publicUrl === undefined ? undefined : URL.parse(webhook.publicUrl)?.origin;
  if (origin !== undefined ? origin !== own : site !== "none") {
    const shown = origin === undefined
      ? `Sec-Fetch-Site: ${site.slice(0, 100)}`
      : `Origin: ${origin.slice(0, 200)}`;
    throw unauthorized(`sent by a web page (${shown}); only pages of publicUrl may send`);
  }
}
