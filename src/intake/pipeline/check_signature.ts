/**
 * Verifies the signature of a delivery with the keys of its trigger, and says why one is refused.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { AppError, unauthorized } from "../../base/errors.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { WebhookSpec } from "../../resources/event_webhook.ts";
import type { Resource } from "../../resources/resource.ts";
import type { SecretStoreSpec } from "../../resources/secret_store.ts";
import { type SignatureCheck, whyRefused } from "../../signatures/failures.ts";
import type { FindCertificate, Refusal, SigningKey, Verdict } from "../../signatures/scheme.ts";
import type { ActiveTrigger } from "../admission/triggers.ts";
import { type AuthenticatedDelivery, markAuthenticated } from "./authenticated_delivery.ts";
import type { ReceivedDelivery } from "./delivery_context.ts";
import { signedRequest } from "./signed_request.ts";
import type { Signing } from "./signing.ts";
import { existingStore, signingKeys } from "./signing_keys.ts";

/** The sources of the keys and certificates of a signature. */
export interface SignatureHost {
  readonly catalog: Catalog;
  readonly findCertificate: FindCertificate;
}

/** The signing that the requests of a trigger must have. */
export interface Signed {
  readonly webhook: WebhookSpec;
  readonly signing: Signing;
}

/**
 * Checks the signature of a delivery with every key of the SecretStore of its trigger.
 *
 * @throws {AppError} `unauthorized`, or `overloaded` if a certificate could not be fetched now.
 */
export function checkSignature(
  delivery: ReceivedDelivery,
  trigger: ActiveTrigger,
  host: SignatureHost,
  signed: Signed,
): AuthenticatedDelivery | Promise<AuthenticatedDelivery> {
  const store = existingStore(trigger, host.catalog);
  const verdict = verify(delivery, signed, signingKeys(store), host);
  return verdict instanceof Promise
    ? verdict.then((settled) => accept(delivery, settled, store, signed))
    : accept(delivery, verdict, store, signed);
}

/** The delivery as one of a known sender, if the verdict says so. */
function accept(
  delivery: ReceivedDelivery,
  verdict: Timed,
  store: Resource<SecretStoreSpec>,
  signed: Signed,
): AuthenticatedDelivery {
  if (!verdict.ok) {
    delivery.context.failure = verdict.reason;
    const request = signedRequest(delivery, signed.webhook);
    throw refusalOf(verdict, {
      ...signed.signing,
      request,
      store: store.name,
      ...defined({ changed: lastChange(store, request.now), untimed: verdict.untimed }),
    });
  }
  delivery.context.secret = { store: store.name, key: verdict.keyName };
  delivery.context.passed("authenticated");
  const key = signingKeys(store).find(({ name }) => name === verdict.keyName);
  return markAuthenticated(delivery, signed, verdict.covered, key);
}

/** A verdict. If only the time of the request was wrong, it has the verdict without that check. */
type Timed = Exclude<Verdict, Refusal> | Refusal & Pick<SignatureCheck, "untimed">;

/** Tries the keys on a delivery. Throws nothing, so that a decoy key can be tried as well. */
export function verify(
  delivery: ReceivedDelivery,
  { webhook, signing }: Signed,
  keys: readonly SigningKey[],
  { findCertificate }: SignatureHost,
): Timed | Promise<Timed> {
  const { scheme, options } = signing;
  const request = signedRequest(delivery, webhook, findCertificate);
  const verdict = scheme.verify(request, keys, options);
  if (!(verdict instanceof Promise)) return isUntimely(verdict) ? untimed(verdict) : verdict;
  return verdict.then((result) => isUntimely(result) ? untimed(result) : result);

  /** Lets the record tell a wrong clock from a stranger. Fetches no certificate. */
  async function untimed(refusal: Refusal): Promise<Timed> {
    const { findCertificate: _, ...alone } = request;
    const anyTime = { ...options, toleranceSecs: Infinity };
    return { ...refusal, untimed: await scheme.verify(alone, keys, anyTime) };
  }
}

function isUntimely(verdict: Verdict): verdict is Refusal {
  return !verdict.ok && verdict.reason === "timestamp_outside_window";
}

/** The key of a store whose value was replaced last; `undefined` if none was. */
function lastChange(
  { valuesChangedAt = {} }: Resource<SecretStoreSpec>,
  now: number,
): SignatureCheck["changed"] {
  const [latest] = Object.entries(valuesChangedAt).filter(([, times]) => times.length > 1)
    .map(([key, [at = 0]]) => ({ key, agoMs: now - at }))
    .toSorted((a, b) => a.agoMs - b.agoMs);
  return latest;
}

/** Platforms give up after a 401, so a failure that may pass within a minute gets another status. */
function refusalOf(refusal: Refusal, checked: SignatureCheck): AppError {
  const reason = whyRefused(refusal, checked);
  if (refusal.reason !== "certificate_unreachable") return unauthorized(reason);
  return new AppError("overloaded", "Cannot be authenticated now", { reason });
}
