/**
 * Seals and opens all values of a SecretStore at once.
 *
 * @module
 */

import type { Resource } from "../resources/resource.ts";
import type { SecretStoreSpec } from "../resources/secret_store.ts";
import type { Keyring, SecretPlace } from "./keyring.ts";

/** A copy of a SecretStore with each value changed; any other resource as it is. */
export async function mapSecrets(
  resource: Resource,
  change: (place: SecretPlace, value: string) => Promise<string>,
): Promise<Resource> {
  if (resource.kind !== "SecretStore") return resource;
  const { project, name: store, createdAt, generation } = resource;
  const data = await Promise.all(
    Object.entries((resource.spec as SecretStoreSpec).data).map(async ([key, value]) =>
      [key, await change({ project, store, key, createdAt, generation }, value)] as const
    ),
  );
  return { ...resource, spec: { data: Object.fromEntries(data) } };
}

/** A copy of a SecretStore that is sealed with the key `to` in place of `from`. */
export function sealAnew(
  secretStore: Resource,
  { from, to }: { readonly from: Keyring; readonly to: Keyring },
): Promise<Resource> {
  return mapSecrets(
    secretStore,
    async (place, sealed) => to.seal(place, await from.open(place, sealed)),
  );
}

/** Whether a key opens every value of these SecretStores; `true` if they have none. */
export async function opensAll(
  keyring: Keyring,
  secretStores: readonly Resource[],
): Promise<boolean> {
  const opened = await Promise.allSettled(
    secretStores.map((one) => mapSecrets(one, keyring.open)),
  );
  return opened.every(({ status }) => status === "fulfilled");
}
