/**
 * The SecretStore with which the sender of a trigger signs, and its keys.
 *
 * @module
 */

import { unauthorized } from "../../base/errors.ts";
import type { Catalog } from "../../resources/catalog.ts";
import type { Resource } from "../../resources/resource.ts";
import type { SecretStoreSpec } from "../../resources/secret_store.ts";
import type { SigningKey } from "../../signatures/scheme.ts";
import type { ActiveTrigger } from "../admission/triggers.ts";

/** The SecretStore that signs for a trigger. */
export function findStore(
  trigger: ActiveTrigger,
  catalog: Catalog,
): Resource<SecretStoreSpec> | undefined {
  const { project, spec } = trigger.resource;
  const name = spec.event.webhook?.secret?.fromRef;
  return name === undefined ? undefined : catalog.find("SecretStore", project, name);
}

/**
 * The SecretStore that signs for a trigger.
 *
 * @throws {AppError} `unauthorized` if it does not exist.
 */
export function existingStore(trigger: ActiveTrigger, catalog: Catalog): Resource<SecretStoreSpec> {
  const store = findStore(trigger, catalog);
  if (store !== undefined) return store;
  const name = trigger.resource.spec.event.webhook?.secret?.fromRef;
  throw unauthorized(`SecretStore "${name}" does not exist`);
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
