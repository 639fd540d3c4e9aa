/**
 * The resources in the manifests of an integration package, apart from its files: reading manifests
 * takes longer than most commands about packages.
 *
 * @module
 */

import { endpointOf, type EndpointTrigger } from "../resources/endpoints.ts";
import { parseManifest } from "../resources/manifest.ts";
import { displayName } from "../resources/resource.ts";
import {
  type IntegrationPackage,
  manifestsOf,
  type PackageFile,
  SECRETS_TEMPLATE,
} from "./packages.ts";

/** A resource of a package, as its manifest states it. */
export interface PackageResource {
  /** The kind as the manifest writes it. */
  readonly kind: string;
  /** Name within the kind. */
  readonly name: string;
  /** `kind/name`, as the command line prints it. */
  readonly displayName: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Its `spec`, with the shape of the kind: the test of the packages applies each one. */
  readonly spec: unknown;
}

/** A SecretStore that the user fills in. */
export type SecretTemplate = Pick<PackageResource, "name" | "labels"> & {
  readonly keys: readonly string[];
};

/** The resources in the files that are applied. */
export function resourcesOf(pack: IntegrationPackage): readonly PackageResource[] {
  return manifestsOf(pack).flatMap(readResources);
}

/** The SecretStores that the user fills in, each with its keys. */
export function secretTemplatesOf({ files }: IntegrationPackage): readonly SecretTemplate[] {
  return files.filter(({ path }) => path === SECRETS_TEMPLATE).flatMap(readResources)
    .map(({ name, labels, spec }) => (
      { name, labels, keys: Object.keys((spec as { data: object }).data) }
    ));
}

/** The endpoints of its webhook triggers, each with the names of its triggers. */
export function endpointsOfPackage(
  pack: IntegrationPackage,
): ReadonlyMap<string, readonly string[]> {
  const endpoints = new Map<string, string[]>();
  for (const { kind, name, spec } of resourcesOf(pack)) {
    if (kind !== "Trigger") continue;
    const endpoint = endpointOf({ name, spec: spec as EndpointTrigger["spec"] });
    if (endpoint === undefined) continue;
    const triggers = endpoints.get(endpoint) ?? [];
    endpoints.set(endpoint, [...triggers, name]);
  }
  return endpoints;
}

function readResources({ path, text }: PackageFile): PackageResource[] {
  return parseManifest(path, text).documents.map(({ value }) => {
    const { kind, metadata: { name, labels = {} }, spec } = value as {
      kind: string;
      metadata: { name: string; labels?: Record<string, string> };
      spec: unknown;
    };
    return { kind, name, displayName: displayName({ kind, project: "", name }), labels, spec };
  });
}

/** A package as JSON. */
export function packageView(pack: IntegrationPackage): Record<string, unknown> {
  return {
    name: pack.name,
    platform: pack.title,
    description: pack.summary,
    secrets: secretTemplatesOf(pack).flatMap(({ name, keys }) =>
      keys.map((key) => ({ store: name, key }))
    ),
    triggers: [...endpointsOfPackage(pack).values()].flat(),
    resources: resourcesOf(pack).map(({ displayName }) => displayName),
    files: pack.files.map(({ path }) => path),
  };
}
