/**
 * A stored request as input of the pipeline: the exact bytes and headers that arrived, under the
 * URL they arrived at.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import { whyNoBody } from "../../store/rules/deleted_body.ts";
import type { Delivery, StoredDelivery } from "../../store/delivery_records.ts";
import { DeliveryContext, type ReceivedDelivery } from "./delivery_context.ts";

/** A request that was stored when it arrived. */
export interface StoredRequest extends ReceivedDelivery {
  /** Its record from when it arrived. */
  readonly record: Delivery;
}

/**
 * The request of a stored delivery.
 *
 * @param context The facts of this run; {@linkcode contextOf} where the time of arrival counts.
 * @throws {AppError} `refused` when it is no longer stored.
 */
export function storedRequest(
  { delivery, content }: StoredDelivery,
  context: DeliveryContext,
): StoredRequest {
  if (content === undefined) {
    throw noContent(delivery);
  }
  const { headers, body, url } = content;
  context.bodyBytes = body.length;
  context.cameWith(headers);
  const method = delivery.detail.handshakeMethod ?? "POST";
  const arrivedAt = delivery.receivedAt;
  return { record: delivery, method, body: new Uint8Array(body), headers, url, context, arrivedAt };
}

/** The refusal to run a delivery again whose body is gone. */
export function noContent(delivery: Delivery): AppError {
  const why = bodyIsGone(delivery);
  return new AppError("refused", `Delivery ${delivery.id} cannot be run again: ${why}`);
}

/** A sentence on a body that is gone, without a capital and a full stop. */
export function bodyIsGone({ detail: { bodyDeletedAt } }: Delivery): string {
  return `its body ${whyNoBody(bodyDeletedAt)}`;
}

/**
 * A context with the id and the time of the stored delivery, for a run that leaves no record.
 */
export function contextOf({ id, remote, receivedAt }: Delivery): DeliveryContext {
  return new DeliveryContext({ id, remote, clock: { now: () => receivedAt } });
}

/** What checked the sender of a delivery when it arrived, as far as its record shows. */
export type CheckedBy = "key" | "connection" | "interceptor" | "nothing";

/**
 * What checked the sender of a delivery; `undefined` when the delivery was refused before, or by,
 * that check.
 */
export function checkedBy({ outcome, secretStore, detail }: Delivery): CheckedBy | undefined {
  if (secretStore !== "") return "key";
  if (detail.connection !== undefined) return "connection";
  if (detail.stages["authenticated"] !== undefined) return "interceptor";
  return detail.unsigned === true || outcome !== "rejected" ? "nothing" : undefined;
}
