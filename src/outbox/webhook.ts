/**
 * The kind `webhook`: a POST to an address of a Notification, as JSON with the headers of Standard
 * Webhooks, or as text. Its id is the same at every try, so a receiver can tell a repetition.
 *
 * @module
 */

import { utf8 } from "../base/bytes.ts";
import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import { askedPause } from "../http/asked_pause.ts";
import { type Answered, send, type Unanswered } from "../http/send.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { WebhookTarget } from "../resources/notification.ts";
import { standardWebhooksSignature } from "../signatures/standard_webhooks.ts";
import type { OutboxMessage } from "../store/outbox_records.ts";
import { type MessageKind, resultOfError, type SendHost, type SendResult } from "./message_kind.ts";
import { secretOf, targetOf } from "./notification_target.ts";

/** Longest time until the receiver has answered. */
const TIMEOUT_MS = 15_000;
/** Most bytes of an answer that are read, and most characters of a refusal that are shown. */
const MAX_ANSWER_BYTES = 2048;
const MAX_SHOWN = 200;

/** The kind `webhook`. Receivers tell a repetition by its id. */
export const webhook: MessageKind = {
  name: "webhook",
  again: "harmless",
  way(message, catalog) {
    const { webhook: to } = targetOf(message, catalog);
    if (to !== undefined) addressOf(message, to, catalog);
    return "";
  },
  rates: [{ most: 2, perMs: 1000 }],
  async send({ message }, host): Promise<SendResult> {
    try {
      const { webhook: to } = targetOf(message, host.catalog);
      if (to === undefined) throw new AppError("not_found", "Its target is no longer a webhook");
      const url = addressOf(message, to, host.catalog);
      const { signal, clock } = host;
      const request = await requestOf(message, to, host);
      const limits = { timeoutMs: TIMEOUT_MS, maxBytes: MAX_ANSWER_BYTES, signal };
      const answer = await send(url, { ...request, ...limits }, clock);
      // Servers name the path in their errors, and the path of an address in a SecretStore is secret.
      const shown = typeof to.url === "string" ? MAX_SHOWN : 0;
      return toSendResult(answer, url, { now: clock.now(), shown });
    } catch (error) {
      return resultOfError(error);
    }
  },
};

/**
 * The address to which a message is posted at present.
 *
 * @throws {AppError} `refused`.
 */
function addressOf(
  { project }: OutboxMessage,
  { url, secret }: WebhookTarget,
  catalog: Catalog,
): string {
  if (secret !== undefined) secretOf(project, secret, catalog);
  const address = typeof url === "string" ? url : secretOf(project, url, catalog);
  checkUrl(address);
  return address;
}

/** Checks an address from a SecretStore, which `svc apply` could not check. */
function checkUrl(url: string): void {
  const parsed = URL.parse(url);
  if (parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.username === "") return;
  const message = "The address in the SecretStore is not an http(s) URL: set it again";
  throw new AppError("refused", message);
}

async function requestOf(
  message: OutboxMessage,
  { format = "json", secret }: WebhookTarget,
  { catalog, clock }: SendHost,
) {
  const { id, project } = message;
  const now = clock.now();
  const body = utf8(format === "json" ? jsonOf(message) : textOf(message));
  const key = secret === undefined ? undefined : {
    name: secret.fromSecret.key,
    value: secretOf(project, secret, catalog),
  };
  const input = { body, now, url: "", id };
  const options = { signatureHeader: "webhook-signature", toleranceSecs: 0 };
  const signed = key === undefined
    ? { "webhook-id": id, "webhook-timestamp": String(Math.floor(now / 1000)) }
    : await standardWebhooksSignature.sign?.(input, key, options);
  const type = format === "json" ? "application/json" : "text/plain; charset=utf-8";
  return {
    method: "POST",
    headers: { ...signed, "content-type": type, "user-agent": "svc" },
    body,
  };
}

/** The form of Standard Webhooks, with the fields that chat services show. */
function jsonOf({ body: { kind, time, title, text, data } }: OutboxMessage): string {
  return JSON.stringify({ type: kind, timestamp: time, title, message: text, data });
}

function textOf({ body: { title, text } }: OutboxMessage): string {
  return text === "" ? `${title}\n` : `${title}\n${text}\n`;
}

function toSendResult(
  answer: Answered | Unanswered,
  url: string,
  { now, shown }: { readonly now: number; readonly shown: number },
): SendResult {
  const { host } = new URL(url);
  if (!answer.answered) {
    const { message: reason, mayHaveArrived } = answer;
    return { result: "later", reason, mayHaveArrived };
  }
  const { status, text, headers } = answer;
  if (status >= 200 && status < 300) return { result: "sent", externalId: "" };
  const said = text.replace(/\s+/g, " ").trim().slice(0, shown);
  const reason = `${host} answered ${status}${said === "" ? "" : `: ${said}`}`;
  if (status === 408 || status === 425 || status === 429 || status >= 500) {
    const afterSecs = askedPause(headers, now);
    return { result: "later", reason, ...defined({ afterSecs }), mayHaveArrived: false };
  }
  if (status < 300 || status >= 400) return { result: "refused", reason };
  const other = URL.parse(headers.get("location") ?? "", url)?.host ?? "another address";
  return { result: "refused", reason: `${host} redirects to ${other}: use that address` };
}
