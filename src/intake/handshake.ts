/**
 * `GET`, `HEAD` and `OPTIONS` under the path of a webhook trigger: the handshake of its platform.
 * Nothing is started, and no body is read.
 *
 * @module
 */

import { toAppError } from "../base/errors.ts";
import { DeliveryContext, type ReceivedDelivery } from "./pipeline/delivery_context.ts";
import { findUnsigned } from "./pipeline/unsigned_handshake.ts";
import {
  answerHandshake,
  type IncomingRequest,
  matchTriggers,
  refuseAndRecord,
  type WebhookHost,
} from "./webhook.ts";

/**
 * Answers a handshake; `undefined` for any other request, whose answer must not tell whether the
 * trigger exists. Never throws.
 */
export async function receiveHandshake(
  { method, url }: Request,
  incoming: IncomingRequest,
  host: WebhookHost,
): Promise<Response | undefined> {
  const { remote, headers } = incoming;
  const context = new DeliveryContext({ id: host.newId(), clock: host.clock, remote });
  const received: ReceivedDelivery = { method, url, headers, body: new Uint8Array(), context };
  try {
    const receivers = host.triggers.findAt(incoming);
    if (receivers === undefined || receivers.fault !== undefined) return undefined;
    context.cameWith(headers);
    const handshake = findUnsigned(received, matchTriggers(receivers, context), host);
    if (handshake === undefined) return undefined;
    return await answerHandshake({ delivery: received, handshake }, host);
  } catch (error) {
    const refusal = toAppError(error);
    // The sender must not learn of an expression that no longer compiles.
    if (refusal.code === "invalid") return undefined;
    return refuseAndRecord(refusal, { ...incoming, context, received }, host);
  }
}
