/**
 * Which resource refers to which: what a resource needs, and who uses it. Pure.
 *
 * @module
 */

import type { Catalog } from "./catalog.ts";
import { CRD_KIND } from "./custom_resource_definition.ts";
import type { Reference } from "./kind.ts";
import type { KindLookup } from "./kind_lookup.ts";
import {
  DEFAULT_PROJECT,
  displayName,
  keyOf,
  type Resource,
  type ResourceKey,
} from "./resource.ts";

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
 * Every place where a resource of `catalog` refers to `wanted`, which need not exist; by kind,
 * project and name of the user.
 */
export function usesOf(wanted: ResourceKey, catalog: Catalog): Use[] {
  const { kinds } = catalog;
  const key = keyOf(wanted);
  return kinds.all.flatMap(({ kind, references }) =>
    references === undefined
      ? []
      : catalog.list(kind).flatMap((user) =>
        needsOf(user, kinds).filter((need) => keyOf(need.key) === key)
          .map(({ reference }) => ({ user, reference }))
      )
  );
}

/** One use as a line: who, in which field, and what happens while the resource is missing. */
export function describeUse({ user, reference }: Use): string {
  const project = ["", DEFAULT_PROJECT].includes(user.project) ? "" : ` of project ${user.project}`;
  return `${displayName(user)}${project} (${reference.path.join(".")}): ${reference.consequence}`;
}

/** A definition is referred to by the kind that it defines, everything else by its name. */
function keyOfReference(
  { kind, name }: Reference,
  project: string,
  kinds: KindLookup,
): ResourceKey {
  if (kind === CRD_KIND) return { kind, project: "", name: kinds.crd(name)?.name ?? name };
  return { kind, project: kinds.named(kind)?.global === true ? "" : project, name };
}
