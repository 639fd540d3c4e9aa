/**
 * The webhook of a LINE channel: its URL, whether it is used, and whether LINE reaches svc.
 *
 * @module
 */

import type { ApiAccess } from "../api/api_call.ts";
import { callLine, mustCallLine } from "./line_client.ts";

/** The webhook in LINE's settings. */
export interface LineWebhook {
  /** Empty if none is set. */
  readonly url: string;
  /** The switch *Use webhook*, which only a person can set. */
  readonly isUsed: boolean;
}

const PATH = "/v2/bot/channel/webhook/endpoint";

/** Longest URL that LINE takes. */
export const MAX_WEBHOOK_URL = 500;

/**
 * The webhook of the channel.
 *
 * @throws {AppError} what {@linkcode mustCallLine} throws.
 */
export async function readWebhook(access: ApiAccess): Promise<LineWebhook> {
  const answer = await callLine(access, { path: PATH });
  if (!answer.ok && answer.status === 404) return { url: "", isUsed: false }; // none was ever set
  const { endpoint, active } = answer.ok ? answer.data : await mustCallLine(access, { path: PATH });
  return { url: typeof endpoint === "string" ? endpoint : "", isUsed: active === true };
}

/**
 * Sets its URL.
 *
 * @throws {AppError} what {@linkcode mustCallLine} throws.
 */
export async function setWebhook(access: ApiAccess, url: string): Promise<void> {
  await mustCallLine(access, { method: "PUT", path: PATH, body: { endpoint: url } });
}

/** The result of LINE's test. */
export interface WebhookTest {
  readonly ok: boolean;
  /** One word for the fault; `null` without a fault. */
  readonly fault: string | null;
  /** One sentence without a full stop. */
  readonly message: string;
}

/**
 * Has LINE send an event without content, and waits for the result.
 *
 * @throws {AppError} what {@linkcode mustCallLine} throws.
 */
export async function testWebhook(access: ApiAccess): Promise<WebhookTest> {
  const path = "/v2/bot/channel/webhook/test";
  const { success, statusCode, reason, detail } = await mustCallLine(access, {
    method: "POST",
    path,
    body: {},
  });
  if (success === true) return { ok: true, fault: null, message: "LINE reaches the daemon" };
  const status = typeof statusCode === "number" ? statusCode : 0;
  const words = [reason, detail].filter((part) => typeof part === "string" && part !== "")
    .join(": ").replaceAll(/\s+/g, " ").slice(0, 300);
  const { fault, remedy } = explain(status, words);
  return { ok: false, fault, message: words === "" ? remedy : `${remedy} (LINE says ${words})` };
}

/** The obstacle between LINE and svc, and its remedy. */
function explain(
  status: number,
  reason: string,
): { readonly fault: string; readonly remedy: string } {
  switch (status) {
    case 401:
      return { fault: "secret", remedy: "LINE signs with another channel secret" };
    case 404:
      return { fault: "path", remedy: "The proxy does not pass on /webhook/, or changes it" };
    case 502:
    case 503:
    case 504:
      return { fault: "proxy", remedy: "The proxy or tunnel does not reach the daemon" };
  }
  if (status >= 300 && status < 400) {
    return {
      fault: "redirect",
      remedy: "Something on the way redirects: exempt /webhook/ from it",
    };
  }
  if (status > 0) return { fault: "status", remedy: `LINE was answered with status ${status}` };
  if (reason.startsWith("REQUEST_TIMEOUT")) {
    return {
      fault: "timeout",
      remedy: "Nothing answered LINE in time: check the proxy and the firewall",
    };
  }
  return {
    fault: "connection",
    remedy: "LINE could not connect: check the name (DNS), the certificate, the proxy and the " +
      "firewall",
  };
}
