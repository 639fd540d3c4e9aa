/**
 * Makes `KnownSecrets` without a daemon.
 *
 * @module
 */

import { Catalog } from "../../src/resources/catalog.ts";
import type { Resource } from "../../src/resources/resource.ts";
import { KnownSecrets } from "../../src/secrets/known_secrets.ts";

/** A SecretStore with these values. */
export function storeOf(name: string, data: Readonly<Record<string, string>>): Resource {
  return {
    kind: "SecretStore",
    project: "default",
    name,
    metadata: {},
    spec: { data },
    generation: 1,
    createdAt: 0,
    updatedAt: 0,
  };
}

/** `KnownSecrets` of a catalog. */
export function knownIn(catalog: Catalog): KnownSecrets {
  const secrets = new KnownSecrets();
  secrets.follow(catalog);
  return secrets;
}

/** `KnownSecrets` of these values. */
export function known(...values: readonly string[]): KnownSecrets {
  return knownIn(new Catalog([storeOf("all", Object.fromEntries(values.entries()))]));
}
