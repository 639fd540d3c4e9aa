/**
 * Secrets that a manifest writes as `***`, as svc shows them: they keep their stored value. Pure.
 *
 * @module
 */

import type { Catalog } from "./catalog.ts";
import type { ManifestResource } from "./read.ts";
import type { ManifestsRead } from "./read_manifests.ts";
import { keyOf } from "./resource.ts";
import type { SecretStoreSpec } from "./secret_store.ts";

/** Puts the stored values in place of `***`; an error for each key without a stored value. */
export function keepMasked(
  { resources, errors, masked }: ManifestsRead,
  catalog: Catalog,
): { readonly resources: readonly ManifestResource[]; readonly errors: readonly string[] } {
  if (masked.length === 0) return { resources, errors };
  const kept = new Map<string, Record<string, string>>();
  const missing: string[] = [];
  for (const one of masked) {
    const before = catalog.find<SecretStoreSpec>(one.kind, one.project, one.name)?.spec.data ?? {};
    if (Object.hasOwn(before, one.secretKey)) kept.set(keyOf(one), before);
    else missing.push(one.error);
  }
  return {
    resources: resources.map((resource) => {
      const before = kept.get(keyOf(resource));
      return before === undefined ? resource : withKept(resource, before, masked);
    }),
    errors: [...errors, ...missing],
  };
}

function withKept(
  resource: ManifestResource,
  before: Readonly<Record<string, string>>,
  masked: ManifestsRead["masked"],
): ManifestResource {
  const own = new Set(
    masked.filter((one) => keyOf(one) === keyOf(resource)).map((one) => one.secretKey),
  );
  const data = Object.entries((resource.spec as SecretStoreSpec).data)
    .map(([key, value]) => [key, own.has(key) ? before[key] ?? value : value]);
  return { ...resource, spec: { data: Object.fromEntries(data) } };
}
