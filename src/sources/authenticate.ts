/**
 * Authenticates a webhook delivery (spec 5.1, contract 3): the signature scheme of its trigger
 * against every value of its SecretStore. Whatever is missing ends in `unauthorized`; the only way
 * past without a signature is `allowUnsigned`, written in the manifest.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import type { Catalog } from "../resources/catalog.ts";
import type { Resource } from "../resources/resource.ts";
import type { SecretStoreSpec } from "../resources/secret_store.ts";
import type { SigningKey } from "../signatures/scheme.ts";
import { findScheme } from "../signatures/schemes.ts";
import type { ActiveTrigger } from "../tasks/triggers.ts";
import type { ReceivedDelivery } from "./trail.ts";

/** Exists for the compiler only. */
declare const authenticatedBrand: unique symbol;

/** A delivery whose sender is known; made by {@linkcode authenticate} only. */
export type AuthenticatedDelivery = ReceivedDelivery & { readonly [authenticatedBrand]: true };

/**
 * The same delivery, its sender checked.
 *
 * @throws {AppError} `unauthorized`, with one and the same message, whatever was wrong.
 */
export async function authenticate(
  delivery: ReceivedDelivery,
  trigger: ActiveTrigger,
  host: { readonly catalog: Catalog },
): Promise<AuthenticatedDelivery> {
  const { project, spec } = trigger.resource;
  const webhook = spec.event.webhook ?? {};
  const authenticated = delivery as AuthenticatedDelivery;
  if (webhook.crdRef !== undefined) {
    throw unauthorized(`CustomResourceDefinition "${webhook.crdRef}" does not exist`);
  }
  if (webhook.secret === undefined) {
    if (webhook.allowUnsigned === true) return authenticated;
    throw unauthorized("the trigger names no secret");
  }
  const store = host.catalog.find<SecretStoreSpec>("SecretStore", project, webhook.secret.fromRef);
  if (store === undefined) {
    throw unauthorized(`SecretStore "${webhook.secret.fromRef}" does not exist`);
  }
  const scheme = findScheme(webhook.scheme ?? "auto");
  if (scheme === undefined) throw unauthorized("the trigger names an unknown scheme");
  const verdict = await scheme.verify(
    {
      body: delivery.body,
      header: (name) => Object.hasOwn(delivery.headers, name) ? delivery.headers[name] : undefined,
      now: delivery.trail.receivedAt,
    },
    signingKeys(store),
    { signatureHeader: (webhook.signatureHeader ?? scheme.defaultHeader).toLowerCase() },
  );
  if (!verdict.ok) throw unauthorized(verdict.reason);
  delivery.trail.secretKey = verdict.keyName;
  return authenticated;
}

function unauthorized(reason: string): AppError {
  return new AppError("unauthorized", "Not authenticated", { reason });
}

/** One object per value for as long as the store stays as it is: imported keys hang on to it. */
const keysOfStore = new WeakMap<Resource<SecretStoreSpec>, readonly SigningKey[]>();

function signingKeys(store: Resource<SecretStoreSpec>): readonly SigningKey[] {
  const known = keysOfStore.get(store);
  if (known !== undefined) return known;
  const keys = Object.entries(store.spec.data).map(([name, value]) => ({ name, value }));
  keysOfStore.set(store, keys);
  return keys;
}
