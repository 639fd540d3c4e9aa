/**
 * A delivery whose sender is known, and which of its values that sender vouches for.
 *
 * @module
 */

import type { Covered, SigningKey } from "../../signatures/scheme.ts";
import {
  type Coverage,
  COVERS_EVERYTHING,
  COVERS_NOTHING,
  withoutQuery,
} from "../../signatures/coverage.ts";
import { coverageOf } from "../../signatures/signature_coverage.ts";
import type { ActiveTrigger } from "../admission/triggers.ts";
import type { DeliveryContext, ReceivedDelivery } from "./delivery_context.ts";
import type { Signing } from "./signing.ts";

declare const authenticatedBrand: unique symbol;

/** A delivery whose sender is known; {@linkcode markAuthenticated} makes it. */
export type AuthenticatedDelivery = ReceivedDelivery & {
  readonly [authenticatedBrand]: true;
  /** The parts that its signature covers; `undefined` if no signature was verified here. */
  readonly covered: Covered | undefined;
  /** The key that verified it; `undefined` if none did. */
  readonly key: SigningKey | undefined;
  /** `undefined` if the trigger takes unsigned requests, or an interceptor checked the sender. */
  readonly voucher: Voucher | undefined;
};

/** The signing that verified a request, or the coverage that was stored when the request arrived. */
export type Voucher = { readonly signing: Signing } | { readonly coverage: Coverage };

/** The voucher for events that this daemon got from the platform itself. */
export const VOUCHED: Voucher = { coverage: COVERS_EVERYTHING };

/** Says that the sender of a delivery is known; `tests/architecture_test.ts` lists who may say so. */
export function markAuthenticated(
  delivery: ReceivedDelivery,
  voucher?: Voucher,
  covered?: Covered,
  key?: SigningKey,
): AuthenticatedDelivery {
  return { ...delivery, covered, key, voucher } as AuthenticatedDelivery;
}

/** The values of a delivery for which its voucher vouches. */
export function coverageOfDelivery(
  { voucher, headers }: AuthenticatedDelivery,
  { webhook: { publicUrl = "" } }: ActiveTrigger,
): Coverage {
  if (voucher === undefined) return COVERS_NOTHING;
  if ("coverage" in voucher) return voucher.coverage;
  const { scheme, options } = voucher.signing;
  const header = (name: string) => Object.hasOwn(headers, name) ? headers[name] : undefined;
  const coverage = coverageOf(scheme, options, { header });
  // The signature covers the query of `publicUrl`, not the query that arrived.
  return coverage.query && publicUrl.includes("?") ? withoutQuery(coverage) : coverage;
}

/** The same delivery for another trigger, which checks its senders in the same way. */
export function forTrigger(
  delivery: AuthenticatedDelivery,
  context: DeliveryContext,
): AuthenticatedDelivery {
  const { method, body, headers, url, voucher, covered, key } = delivery;
  return markAuthenticated({ method, body, headers, url, context }, voucher, covered, key);
}

/**
 * Takes a delivery that the daemon fetched from the platform with the token of a Connection: the
 * server's certificate and the token vouch for all of it, headers too, instead of a signature.
 */
export function vouchedBy(
  connection: string,
): (received: ReceivedDelivery) => AuthenticatedDelivery {
  return (delivery) => {
    delivery.context.connection = connection;
    delivery.context.passed("authenticated");
    return markAuthenticated(delivery, VOUCHED);
  };
}
