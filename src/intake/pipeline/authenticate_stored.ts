/**
 * Takes a stored request as authenticated, by what its record says of its sender.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import type { Delivery } from "../../store/delivery_records.ts";
import type { ActiveTrigger } from "../admission/triggers.ts";
import { authenticate, type AuthenticateHost } from "./authenticate.ts";
import { nativeWebhook } from "./authenticate_native.ts";
import {
  type AuthenticatedDelivery,
  markAuthenticated,
  VOUCHED,
  type Voucher,
} from "./authenticated_delivery.ts";
import { schemeOf, senderOf } from "./signing.ts";
import { checkedBy, type StoredRequest } from "./stored_request.ts";

/**
 * Takes the sender of a stored request as known, because it was checked when the request arrived. The
 * record says what its signature covered; a record that does not is read by the scheme of `trigger`.
 *
 * @throws {AppError} `refused` when it was rejected then.
 */
export function authenticatedBefore(
  stored: StoredRequest,
  trigger: ActiveTrigger,
): AuthenticatedDelivery {
  const { record, context } = stored;
  const by = checkedBy(record);
  if (by === undefined) {
    throw new AppError("refused", `Delivery ${record.id} was not authenticated when it arrived`, {
      reason: record.reason,
    });
  }
  if (by === "key") context.secret = { store: record.secretStore, key: record.secretKey };
  if (by === "connection") context.connection = record.detail.connection;
  if (by === "nothing") context.unsigned = true;
  else context.passed("authenticated");
  return markAuthenticated(stored, voucherOf(record, trigger));
}

/**
 * Takes the sender of a stored request as known if it was authenticated when it arrived, and otherwise
 * checks it again with the keys of now.
 *
 * @throws {AppError} `unauthorized` when it is refused again.
 */
export async function authenticatedOrAnew(
  stored: StoredRequest,
  trigger: ActiveTrigger,
  host: AuthenticateHost,
): Promise<AuthenticatedDelivery> {
  return checkedBy(stored.record) === undefined
    ? await authenticate(stored, trigger, host)
    : authenticatedBefore(stored, trigger);
}

function voucherOf(
  { secretStore, via, detail }: Delivery,
  trigger: ActiveTrigger,
): Voucher | undefined {
  if (detail.signed !== undefined) return { coverage: detail.signed };
  if (detail.connection !== undefined) return VOUCHED;
  const { webhook } = trigger;
  // Another SecretStore means another sender, whose scheme may differ from the verified one.
  if (secretStore === "" || secretStore !== webhook.secret?.fromRef) return undefined;
  return {
    signing: via === "chat" ? schemeOf(nativeWebhook("slack", webhook)) : senderOf(trigger).signing,
  };
}
