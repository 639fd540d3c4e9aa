/**
 * The meaning of a parsed request: a handshake of its platform, or one event or several, each with
 * the key by which a repetition is recognised.
 *
 * @module
 */

import { sha256Hex, utf8 } from "../../base/bytes.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import { isJsonObject, type JsonObject, toJson } from "../../base/json.ts";
import type { WebhookSpec } from "../../resources/event_webhook.ts";
import type { Coverage } from "../../signatures/coverage.ts";
import type { TriggerEvent } from "../admission/admit.ts";
import type { ActiveTrigger } from "../admission/triggers.ts";
import type { ParsedDelivery } from "./payload.ts";
import { senderOf } from "./signing.ts";
import { type EventId, type Handshake, type Platform, PONG } from "../../platforms/platform.ts";

/**
 * Most events of a request: each is filtered, recorded and may start a task, all in one transaction.
 * No known platform sends a tenth of it.
 */
const MAX_EVENTS = 1000;

/** Most characters of JSON around a list of events, because each event gets a copy. */
const MAX_ENVELOPE = 4096;

/** The answer to a handshake; `undefined` for any other request. */
export function findHandshake(
  parsed: ParsedDelivery,
  trigger: ActiveTrigger,
): Handshake | undefined {
  const { platform: from } = senderOf(trigger);
  if (isBatch(parsed, from) && isEmpty(parsed.payload)) return PONG;
  const payload = soleObject(parsed.payload);
  return payload === undefined ? undefined : from?.handshake?.(payload, parsed.delivery.key);
}

/**
 * The events of a request, at least one.
 *
 * @param coverage What the signature covers, if an expression reads it.
 * @throws {AppError} `invalid` if there are too many events, or too much JSON around them.
 */
export function toEvents(
  parsed: ParsedDelivery,
  trigger: ActiveTrigger,
  coverage?: Coverage,
): TriggerEvent[] {
  const { delivery, payload, json } = parsed;
  const { webhook } = trigger;
  const { platform: from } = senderOf(trigger);
  const parts = isBatch(parsed, from) && Array.isArray(payload)
    ? counted(payload)
    : split(payload, from?.eventList);
  return parts.map((part) => {
    const own = part === payload ? json : utf8(toJson(part));
    const key = trigger.idempotencyKey === undefined
      ? platformKey({ parsed, part, own }, from, webhook)
      : undefined;
    return {
      trigger,
      payload: part,
      headers: delivery.headers,
      request: { url: delivery.url, method: delivery.method, remote: delivery.context.remote },
      delivery: delivery.context,
      ...defined({
        ownPayload: own,
        coverage,
        again: delivery.context.redeliveryOf === undefined ? undefined : true,
        platformKey: key,
      }),
    };
  });
}

/** A payload that is an object, or the object in a list of one. */
function soleObject(payload: unknown): JsonObject | undefined {
  const only: unknown = Array.isArray(payload) && payload.length === 1 ? payload[0] : payload;
  return isJsonObject(only) ? only : undefined;
}

/** Makes each event of a list a payload: the fields around the list, and a list of one event. */
function split(payload: unknown, listName: string | undefined): readonly unknown[] {
  if (listName === undefined) return [payload];
  const around = isJsonObject(payload) ? payload : {};
  const list = listName === "" ? payload : around[listName];
  if (!Array.isArray(list) || list.length < 2) return [payload];
  counted(list);
  if (listName === "") return list.map((event: unknown) => [event]);
  if (toJson({ ...around, [listName]: [] }).length > MAX_ENVELOPE) {
    const message = `The JSON around the list "${listName}" is longer than ${MAX_ENVELOPE}`;
    throw new AppError("invalid", `${message} characters`);
  }
  return list.map((event: unknown) => ({ ...around, [listName]: [event] }));
}

/** The same list, if it is not too long. */
function counted(list: readonly unknown[]): readonly unknown[] {
  if (list.length <= MAX_EVENTS) return list;
  const message = `The request has ${list.length} events, more than ${MAX_EVENTS}`;
  throw new AppError("invalid", message);
}

/** Whether the payload is a list of events, each of which is a payload. */
function isBatch({ delivery: { headers } }: ParsedDelivery, from: Platform | undefined): boolean {
  return from?.isBatch?.((name) => Object.hasOwn(headers, name) ? headers[name] : undefined) ===
    true;
}

function isEmpty(payload: unknown): boolean {
  return Array.isArray(payload) && payload.length === 0;
}

/** An event of a request; `own` is its exact JSON if that is not the body. */
interface Part {
  readonly parsed: ParsedDelivery;
  readonly part: unknown;
  readonly own: Uint8Array | undefined;
}

/**
 * The key by which a repetition is recognised. An id that is not signed is never the key alone: a
 * captor who guesses the id of a future event could send another body under it first, and the real
 * event would be lost as a duplicate.
 */
function platformKey(
  { parsed: { delivery, payload }, part, own }: Part,
  from: Platform | undefined,
  { signatureHeader = "", dedup = "id" }: WebhookSpec,
): string | undefined {
  const { headers, covered, body } = delivery;
  const whole = covered?.content ?? body;
  const digest = () => sha256Hex(part === payload ? whole : own ?? whole);
  if (dedup === "bytes") return digest();
  const name: EventId | undefined = from?.eventId?.({
    payload: soleObject(part) ?? {},
    header: (header) => Object.hasOwn(headers, header) ? headers[header] : undefined,
    signatureHeader: signatureHeader.toLowerCase(),
    isSigned: covered?.content !== undefined,
    messageId: covered?.messageId,
  });
  if (name === undefined || name.signed) return name?.id;
  return `${name.id} ${digest()}`;
}
