/**
 * Authenticates a webhook delivery: the signature scheme of its trigger against every value of its
 * SecretStore. Anything missing ends in `unauthorized`; the only way past without a signature is
 * `allowUnsigned`, written in the manifest.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";
import { AppError, unauthorized } from "../../base/errors.ts";
import type { WebhookSpec } from "../../resources/event_webhook.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { intercept, type PluginDelivery, pluginsOf } from "../../plugins/phases.ts";
import type { PluginHost } from "../../plugins/run_plugin.ts";
import type { CrdSpec } from "../../resources/custom_resource_definition.ts";
import type { Resource } from "../../resources/resource.ts";
import type { SecretStoreSpec } from "../../resources/secret_store.ts";
import type {
  Covered,
  FindCertificate,
  Refusal,
  SignedRequest,
  SigningKey,
  Verdict,
} from "../../signatures/scheme.ts";
import {
  type Coverage,
  COVERS_EVERYTHING,
  COVERS_NOTHING,
  withoutQuery,
} from "../../signatures/coverage.ts";
import { coverageOf } from "../../signatures/signature_coverage.ts";
import { type Checked, whyRefused } from "../../signatures/failures.ts";
import type { Delivery } from "../../store/delivery_records.ts";
import { platformOf } from "../../platforms/platforms.ts";
import type { ActiveTrigger } from "../admission/triggers.ts";
import { checkAddress, checkNoPage } from "./check_origin.ts";
import type { DeliveryContext, ReceivedDelivery } from "./delivery_context.ts";
import { schemeOf, senderOf, type Signing } from "./signing.ts";
import { checkedBy, type StoredRequest } from "./stored_request.ts";

/** Exists for the compiler only. */
declare const authenticatedBrand: unique symbol;

/** A delivery whose sender is known; made in this file only. */
export type AuthenticatedDelivery = ReceivedDelivery & {
  readonly [authenticatedBrand]: true;
  /** What its signature covers; `undefined` where none was verified here. */
  readonly covered: Covered | undefined;
  /** The key that verified it; `undefined` where none did. */
  readonly key: SigningKey | undefined;
  /** What vouches for it; `undefined` where nothing does, or an interceptor of the trigger. */
  readonly voucher: Voucher | undefined;
};

/**
 * What vouches for a request: the signing that verified it, or what it was known to cover when it
 * arrived.
 */
export type Voucher = { readonly signing: Signing } | { readonly coverage: Coverage };

/** Of what the platform itself gave to this daemon. */
const VOUCHED: Voucher = { coverage: COVERS_EVERYTHING };

function authenticated(
  delivery: ReceivedDelivery,
  voucher?: Voucher,
  covered?: Covered,
  key?: SigningKey,
): AuthenticatedDelivery {
  return { ...delivery, covered, key, voucher } as AuthenticatedDelivery;
}

/** Which values of a delivery are covered by what vouches for it. */
export function coverageOfDelivery(
  { voucher, headers }: AuthenticatedDelivery,
  { webhook: { publicUrl = "" } }: ActiveTrigger,
): Coverage {
  if (voucher === undefined) return COVERS_NOTHING;
  if ("coverage" in voucher) return voucher.coverage;
  const { scheme, options } = voucher.signing;
  const header = (name: string) => Object.hasOwn(headers, name) ? headers[name] : undefined;
  const coverage = coverageOf(scheme, options, { header });
  // A query that is configured is signed in the place of the one that arrives.
  return coverage.query && publicUrl.includes("?") ? withoutQuery(coverage) : coverage;
}

/** The same delivery under the record of another trigger, whose senders are checked in the same way. */
export function forTrigger(
  delivery: AuthenticatedDelivery,
  context: DeliveryContext,
): AuthenticatedDelivery {
  const { method, body, headers, url, voucher, covered, key } = delivery;
  return authenticated({ method, body, headers, url, context }, voucher, covered, key);
}

/** What authentication needs. */
export interface AuthenticateHost {
  readonly catalog: Catalog;
  readonly plugins: PluginHost;
  readonly findCertificate: FindCertificate;
}

/**
 * Checks the sender by the trigger's own settings.
 *
 * @throws {AppError} `unauthorized`, always with the same message; the reason is for the record
 * only.
 */
export async function authenticate(
  delivery: ReceivedDelivery,
  trigger: ActiveTrigger,
  host: AuthenticateHost,
): Promise<AuthenticatedDelivery> {
  const { webhook } = trigger;
  checkAddress(webhook, delivery.context.remote);
  if (webhook.crdRef !== undefined) {
    const crd = findCrd(webhook.crdRef, host.catalog);
    if (pluginsOf(crd, "interceptor").length > 0) {
      await intercept(crd, pluginDelivery(delivery, trigger), host.plugins);
      delivery.context.passed("authenticated");
      return authenticated(delivery);
    }
  }
  if (webhook.secret === undefined) {
    if (webhook.allowUnsigned !== true) throw unauthorized(NO_SECRET);
    checkNoPage(delivery.headers, webhook);
    delivery.context.unsigned = true;
    return authenticated(delivery);
  }
  const { signing } = senderOf(trigger);
  return await checkSignature(delivery, trigger, host, { webhook, signing });
}

/**
 * Checks the sender by the one scheme of a native source, which no manifest can change. Keys of
 * another platform are not tried: some are public, and then anyone could sign. Where the trigger is
 * missing or has no usable key, a decoy key is tried, so that the time of an answer tells no more
 * than its text.
 *
 * @throws {AppError} `unauthorized`, with one and the same message, whatever was wrong.
 */
export async function authenticateBy(
  scheme: "slack",
  delivery: ReceivedDelivery,
  trigger: ActiveTrigger | undefined,
  host: Pick<AuthenticateHost, "catalog" | "findCertificate">,
): Promise<AuthenticatedDelivery> {
  const given = trigger?.webhook ?? {};
  const { scheme: named = "auto", signatureHeader } = given;
  const webhook = nativeWebhook(scheme, given);
  const signed = { webhook, signing: schemeOf(webhook) };
  try {
    if (trigger === undefined) throw unauthorized("no such trigger");
    checkAddress(webhook, delivery.context.remote);
    if (webhook.crdRef !== undefined) throw unauthorized("crdRef is for /webhook/ only");
    if (webhook.secret === undefined) {
      throw unauthorized(
        "the trigger names no secret, and this address needs one: set secret.fromRef",
      );
    }
    const unnamed = named === "auto" && signatureHeader === undefined;
    const platform = platformOf(named, signatureHeader)?.name;
    if (!unnamed && platform !== scheme) {
      const other = platform ?? `scheme ${named}`;
      throw unauthorized(`the trigger is for ${other}, but this address takes only ${scheme}`);
    }
    storeOf(trigger, host.catalog);
  } catch (refusal) {
    await verify(delivery, signed, [DECOY], host);
    throw refusal;
  }
  return await checkSignature(delivery, trigger, host, signed);
}

/** The settings of a trigger under which its platform's own endpoint checks signatures. */
export function nativeWebhook(scheme: "slack", webhook: WebhookSpec): WebhookSpec {
  const { signatureHeader: _header, hmac: _hmac, ...rest } = webhook;
  return { ...rest, scheme };
}

/** Everybody is refused, until the manifest says how senders are known. */
const NO_SECRET = "the trigger names no secret: set secret.fromRef, crdRef or allowUnsigned";

/** Key of the decoy check. A request that it signs is refused too, so it need not be secret. */
const DECOY: SigningKey = { name: "", value: "a key that opens nothing" };

/** What the requests of a trigger have to be signed like. */
interface Signed {
  readonly webhook: WebhookSpec;
  readonly signing: Signing;
}

async function checkSignature(
  delivery: ReceivedDelivery,
  trigger: ActiveTrigger,
  host: Pick<AuthenticateHost, "catalog" | "findCertificate">,
  signed: Signed,
): Promise<AuthenticatedDelivery> {
  const store = storeOf(trigger, host.catalog);
  const keys = signingKeys(store);
  const verdict = await verify(delivery, signed, keys, host);
  if (!verdict.ok) {
    delivery.context.failure = verdict.reason;
    const request = signedRequest(delivery, signed.webhook);
    const { untimed } = verdict;
    throw refusalOf(verdict, {
      ...signed.signing,
      request,
      store: store.name,
      ...lastChange(store, request.now),
      ...defined({ untimed }),
    });
  }
  delivery.context.secret = { store: store.name, key: verdict.keyName };
  delivery.context.passed("authenticated");
  const key = keys.find(({ name }) => name === verdict.keyName);
  return authenticated(delivery, signed, verdict.covered, key);
}

/** A verdict; of a request that came at the wrong time with what it would be at any time. */
type Timed = Exclude<Verdict, Refusal> | Refusal & Pick<Checked, "untimed">;

function verify(
  delivery: ReceivedDelivery,
  { webhook, signing }: Signed,
  keys: readonly SigningKey[],
  { findCertificate }: Pick<AuthenticateHost, "findCertificate">,
): Timed | Promise<Timed> {
  const { scheme, options } = signing;
  const request = signedRequest(delivery, webhook, findCertificate);
  const verdict = scheme.verify(request, keys, options);
  if (!(verdict instanceof Promise)) return isUntimely(verdict) ? untimed(verdict) : verdict;
  return verdict.then((one) => isUntimely(one) ? untimed(one) : one);

  /** The record says whether a clock is wrong or a stranger sent it. Asks no platform for anything. */
  async function untimed(refusal: Refusal): Promise<Timed> {
    const { findCertificate: _, ...alone } = request;
    const anyTime = { ...options, toleranceSecs: Infinity };
    return { ...refusal, untimed: await scheme.verify(alone, keys, anyTime) };
  }
}

function isUntimely(verdict: Verdict): verdict is Refusal {
  return !verdict.ok && verdict.reason === "timestamp_outside_window";
}

/** The key of a store whose value was replaced last, as far as its times were kept. */
function lastChange(
  { valuesChangedAt = {} }: Resource<SecretStoreSpec>,
  now: number,
): Pick<Checked, "changed"> {
  const replaced = Object.entries(valuesChangedAt).filter(([, times]) => times.length > 1)
    .map(([key, [at = 0]]) => ({ key, agoMs: now - at }))
    .toSorted((a, b) => a.agoMs - b.agoMs);
  return replaced[0] === undefined ? {} : { changed: replaced[0] };
}

/** A sender who is refused with 401 gives up; what may be different in a minute is another answer. */
function refusalOf(refusal: Refusal, checked: Checked): AppError {
  const reason = whyRefused(refusal, checked);
  if (refusal.reason !== "certificate_unreachable") return unauthorized(reason);
  return new AppError("overloaded", "Cannot be authenticated now", { reason });
}

function storeOf(trigger: ActiveTrigger, catalog: Catalog): Resource<SecretStoreSpec> {
  const store = findStore(trigger, catalog);
  if (store !== undefined) return store;
  const name = trigger.resource.spec.event.webhook?.secret?.fromRef;
  throw unauthorized(`SecretStore "${name}" does not exist`);
}

/**
 * Takes what the platform gave to this daemon when it asked there with the token of a Connection:
 * no signature covers it; the server's certificate and the token vouch for all of it, headers too.
 */
export function vouchedBy(connection: string): (given: ReceivedDelivery) => AuthenticatedDelivery {
  return (delivery) => {
    delivery.context.connection = connection;
    delivery.context.passed("authenticated");
    return authenticated(delivery, VOUCHED);
  };
}

/**
 * Takes a stored request whose sender was checked when it arrived. What its signature covered is what
 * its record says, else what the form that this trigger verifies covers.
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
  return authenticated(stored, voucherOf(record, trigger));
}

/**
 * Takes the sender of a stored request as authenticated when it was; one that was refused is checked
 * anew, with the keys of now.
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
  // With another SecretStore it is another sender, whose form need not be the one that was verified.
  if (secretStore === "" || secretStore !== webhook.secret?.fromRef) return undefined;
  return {
    signing: via === "chat" ? schemeOf(nativeWebhook("slack", webhook)) : senderOf(trigger).signing,
  };
}

/** A delivery as plugins see it. */
export function pluginDelivery(delivery: ReceivedDelivery, trigger: ActiveTrigger): PluginDelivery {
  const { project, name } = trigger.resource;
  const { headers, body, context } = delivery;
  return { project, trigger: name, deliveryId: context.id, headers, body };
}

/** A missing CRD is refused, never passed over: its interceptors may be what authenticates. */
function findCrd(kind: string, catalog: Catalog): CrdSpec {
  const crd = catalog.kinds.crd(kind);
  if (crd === undefined) {
    throw unauthorized(`CustomResourceDefinition of kind "${kind}" does not exist`);
  }
  return crd.spec;
}

/** The SecretStore that signs for a trigger. */
export function findStore(
  trigger: ActiveTrigger,
  catalog: Catalog,
): Resource<SecretStoreSpec> | undefined {
  const { project, spec } = trigger.resource;
  const name = spec.event.webhook?.secret?.fromRef;
  return name === undefined ? undefined : catalog.find("SecretStore", project, name);
}

/** A delivery as a signature sees it. */
export function signedRequest(
  delivery: ReceivedDelivery,
  webhook: WebhookSpec,
  findCertificate?: FindCertificate,
): SignedRequest {
  const { body, headers, context, arrivedAt = context.receivedAt } = delivery;
  return {
    body,
    header: (name) => Object.hasOwn(headers, name) ? headers[name] : undefined,
    now: arrivedAt,
    url: publicUrl(webhook.publicUrl, delivery.url),
    arrivedUrl: delivery.url,
    ...defined({ findCertificate }),
  };
}

/** The URL the sender knows: behind a proxy it is not the one that arrived. */
export function publicUrl(configured: string | undefined, arrived: string): string {
  if (configured === undefined) return arrived;
  const query = arrived.indexOf("?");
  return configured.includes("?") || query === -1 ? configured : configured + arrived.slice(query);
}

/** One object per value for as long as the store stays as it is: imported keys are cached on it. */
const keysOfStore = new WeakMap<Resource<SecretStoreSpec>, readonly SigningKey[]>();

/** The signing keys of a store, in its order. */
export function signingKeys(store: Resource<SecretStoreSpec>): readonly SigningKey[] {
  const known = keysOfStore.get(store);
  if (known !== undefined) return known;
  const keys = Object.entries(store.spec.data).map(([name, value]) => ({ name, value }));
  keysOfStore.set(store, keys);
  return keys;
}
