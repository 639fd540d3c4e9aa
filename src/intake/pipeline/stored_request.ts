/**
 * A stored request as input of the pipeline: the exact bytes, headers and URL of its arrival.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { whyNoBody } from "../../store/rules/deleted_body.ts";
import type { Delivery, StoredDelivery } from "../../store/delivery_records.ts";
import { DeliveryContext, type ReceivedDelivery } from "./delivery_context.ts";

/** A request that was stored when it arrived. */
export interface StoredRequest extends ReceivedDelivery {
  /** Its record on arrival. */
  readonly record: Delivery;
}

/**
 * The request of a stored delivery.
 *
 * @param context The context of this run; use {@linkcode contextOf} if the run has to happen at the
 * time of arrival.
 * @throws {AppError} `refused` if its content is no longer stored.
 */
export function storedRequest(
  { delivery, content }: StoredDelivery,
  context: DeliveryContext,
): StoredRequest {
  if (content === undefined) throw noContent(delivery);
  const { headers, body, url } = content;
  context.bodyBytes = body.length;
  context.cameWith(headers);
  const method = delivery.detail.handshakeMethod ?? "POST";
  const arrivedAt = delivery.receivedAt;
  return { record: delivery, method, body: new Uint8Array(body), headers, url, context, arrivedAt };
}

/** The refusal to run a delivery again whose body was deleted. */
export function noContent(delivery: Delivery): AppError {
  const why = bodyIsGone(delivery);
  return new AppError("refused", `Delivery ${delivery.id} cannot be run again: ${why}`);
}

/** Why a body is no longer stored: a sentence without a capital and a full stop. */
export function bodyIsGone({ detail: { bodyDeletedAt } }: Delivery): string {
  return `its body ${whyNoBody(bodyDeletedAt)}`;
}

/** A context with the id and the time of a stored delivery, for a run that leaves no record. */
export function contextOf({ id, remote, receivedAt }: Delivery): DeliveryContext {
  return new DeliveryContext({ id, remote, clock: { now: () => receivedAt } });
}

/** The check that the sender of a delivery passed on arrival, by its record. */
export type CheckedBy = "key" | "connection" | "interceptor" | "nothing";

/** The check that the sender passed; `undefined` if the delivery was refused before it, or by it. */
export function checkedBy({ outcome, secretStore, detail }: Delivery): CheckedBy | undefined {
  if (secretStore !== "") return "key";
  if (detail.connection !== undefined) return "connection";
  if (detail.stages["authenticated"] !== undefined) return "interceptor";
  return detail.unsigned === true || outcome !== "rejected" ? "nothing" : undefined;
}
