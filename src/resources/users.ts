/**
 * References between resources: the resources that a resource needs, and those that use it. Pure.
 *
 * @module
 */

import type { Catalog } from "./catalog.ts";
import { CRD_KIND, type CrdSpec, hooksOf } from "./custom_resource_definition.ts";
import type { Reference } from "./kind.ts";
import type { KindLookup } from "./kind_lookup.ts";
import {
  DEFAULT_PROJECT,
  displayName,
  keyOf,
  type Resource,
  type ResourceKey,
} from "./resource.ts";
import type { SecretStoreSpec } from "./secret_store.ts";
import type { TriggerSpec } from "./trigger.ts";

/** A reference and the key of the resource it leads to, which need not exist. */
export interface Need {
  readonly key: ResourceKey;
  readonly reference: Reference;
}

/** One place where a resource is used. */
export interface Use {
  /** The resource that refers to it. */
  readonly user: Resource;
  readonly reference: Reference;
}

/** Everything that a resource refers to, in the order of its fields. */
export function needsOf(
  { kind, project, spec }: Pick<Resource, "kind" | "project" | "spec">,
  kinds: KindLookup,
): Need[] {
  const references = kinds.named(kind)?.references?.(spec) ?? [];
  return references.map((reference) => ({
    key: keyOfReference(reference, project, kinds),
    reference,
  }));
}

/**
 * Every place where a resource of `catalog` refers to `key`, which need not exist; sorted by kind,
 * project and name of the user.
 */
export function usesOf(key: ResourceKey, catalog: Catalog): readonly Use[] {
  return usesByKey(catalog).get(keyOf(key)) ?? [];
}

/** A resource that others would miss, and its uses. */
export interface InUse {
  readonly resource: Resource;
  readonly uses: readonly Use[];
}

/** The resources among `resources` that others than these use. */
export function usedByOthers(resources: readonly Resource[], catalog: Catalog): InUse[] {
  const among = new Set(resources.map(keyOf));
  const all = usesByKey(catalog);
  return resources.flatMap((resource) => {
    const uses = (all.get(keyOf(resource)) ?? []).filter(({ user }) => !among.has(keyOf(user)));
    return uses.length === 0 ? [] : [{ resource, uses }];
  });
}

/**
 * Divides `resources` into those that can be deleted, and those that are kept because a resource
 * that is not among them, or a kept one, uses them.
 */
export function keepUsed(
  resources: readonly Resource[],
  catalog: Catalog,
): { readonly unused: readonly Resource[]; readonly kept: readonly InUse[] } {
  const used = usedByOthers(resources, catalog);
  if (used.length === 0) return { unused: resources, kept: [] };
  const stay = new Set(used.map(({ resource }) => keyOf(resource)));
  const rest = keepUsed(resources.filter((one) => !stay.has(keyOf(one))), catalog);
  return { unused: rest.unused, kept: [...used, ...rest.kept] };
}

/** Every use in `catalog`, by the key of the used resource. */
function usesByKey(catalog: Catalog): ReadonlyMap<string, readonly Use[]> {
  const { kinds } = catalog;
  const uses = new Map<string, Use[]>();
  for (const { kind } of kinds.all.filter(({ references }) => references !== undefined)) {
    for (const user of catalog.list(kind)) {
      for (const { key, reference } of needsOf(user, kinds)) {
        const others = uses.get(keyOf(key));
        if (others === undefined) uses.set(keyOf(key), [{ user, reference }]);
        else others.push({ user, reference });
      }
    }
  }
  return uses;
}

/**
 * Resources whose plugins or hooks may read the SecretStores of a project: no field names a store
 * there, their run token opens all. By kind, project and name.
 */
export function pluginReadersOf(project: string, catalog: Catalog): readonly Resource[] {
  const { kinds } = catalog;
  const triggers = (catalog.list("Trigger", project) as Resource<TriggerSpec>[]).filter(
    ({ spec: { event: { webhook } } }) =>
      (kinds.crd(webhook?.crdRef ?? "")?.spec.plugins ?? []).some(({ type }) => type !== "cron"),
  );
  const definitions = (catalog.list(CRD_KIND) as Resource<CrdSpec>[]).filter(({ spec }) =>
    (spec.plugins ?? []).some((plugin) =>
      plugin.type === "cron" && (plugin.project ?? DEFAULT_PROJECT) === project
    ) || hooksOf(spec).length > 0 && catalog.list(spec.kind, project).length > 0
  );
  return [...triggers, ...definitions];
}

/** A resource, or a key of a SecretStore, that may be missing. */
export type Lack = ResourceKey & Pick<Reference, "secretKey">;

/**
 * Whether `catalog` has no such resource; with `secretKey`, whether the SecretStore is there and
 * has no such key.
 */
export function lacks({ kind, project, name, secretKey }: Lack, catalog: Catalog): boolean {
  const resource = catalog.find(kind, project, name);
  if (secretKey === undefined) return resource === undefined;
  return resource !== undefined &&
    !Object.hasOwn((resource.spec as SecretStoreSpec).data, secretKey);
}

/** The resource and the key that a need may lack, each with the sentence that reports it. */
export function possibleLacks(
  { key, reference: { secretKey, consequence } }: Need,
): { readonly lack: Lack; readonly message: string }[] {
  const what = `${key.kind} "${key.name}"`;
  const whole = { lack: key, message: `${what} does not exist: ${consequence}` };
  if (secretKey === undefined) return [whole];
  const lack = { kind: key.kind, project: key.project, name: key.name, secretKey };
  return [whole, { lack, message: `${what} has no key "${secretKey}": ${consequence}` }];
}

/** Most lines about uses. */
const MAX_LINES = 20;

/** Uses as lines: the user, the field, and the effect there while the resource is missing. */
export function describeInUse(inUse: readonly InUse[]): string[] {
  const lines = inUse.flatMap(({ resource, uses }) =>
    uses.map((use) => `${displayName(resource)} is used by ${describeUse(use)}`)
  );
  if (lines.length <= MAX_LINES) return lines;
  return [...lines.slice(0, MAX_LINES), `and ${lines.length - MAX_LINES} more like these`];
}

/** One use as a line: the user, the field, and the effect while the resource is missing. */
export function describeUse({ user, reference }: Use): string {
  const project = ["", DEFAULT_PROJECT].includes(user.project) ? "" : ` of project ${user.project}`;
  return `${displayName(user)}${project} (${reference.path.join(".")}): ${reference.consequence}`;
}

/**
 * The key of a reference: a definition is referred to by the kind that it defines, everything else
 * by its name.
 */
function keyOfReference(
  { kind, name }: Reference,
  project: string,
  kinds: KindLookup,
): ResourceKey {
  if (kind === CRD_KIND) return { kind, project: "", name: kinds.crd(name)?.name ?? name };
  return { kind, project: kinds.named(kind)?.global === true ? "" : project, name };
}
