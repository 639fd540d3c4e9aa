/**
 * Every resource in memory, as it was last committed, for lookups on hot paths. Secret values are in
 * plain text here and nowhere else.
 *
 * @module
 */

import { CRD_KIND, type CrdSpec } from "./custom_resource_definition.ts";
import { KindLookup } from "./kind_lookup.ts";
import { keyOf, type Resource, type ResourceKey } from "./resource.ts";

/** A change that has been committed. */
export type CatalogChange =
  | { readonly op: "put"; readonly resource: Resource }
  | { readonly op: "delete"; readonly key: ResourceKey };

/** The resources of one data directory. */
export class Catalog {
  readonly #resources = new Map<string, Resource>();
  #version = 0;
  #stored: number;
  #kinds: KindLookup | undefined;
  #listener: (changes: readonly CatalogChange[]) => void = () => {};

  /** A catalog that holds `resources`, which are stored as version `stored`. */
  constructor(resources: readonly Resource[] = [], stored = 0) {
    this.#stored = stored;
    for (const resource of resources) this.#resources.set(keyOf(resource), resource);
  }

  /** Increases with every change; data derived at an older version may be stale. */
  get version(): number {
    return this.#version;
  }

  /** The version of the stored resources that this catalog holds; 0 where only one daemon writes. */
  get storedVersion(): number {
    return this.#stored;
  }

  /** The resource of that kind, project and name. */
  find<Spec>(kind: string, project: string, name: string): Resource<Spec> | undefined {
    // Only specs that passed their kind's schema are added, so the kind determines the type.
    return this.#resources.get(keyOf({ kind, project, name })) as Resource<Spec> | undefined;
  }

  /** Every resource of a kind, by project and name; of every project when none is named. */
  list(kind: string, project?: string): Resource[] {
    return [...this.#resources.values()]
      .filter((one) => one.kind === kind && (project === undefined || one.project === project))
      .sort((a, b) => compare(a.project, b.project) || compare(a.name, b.name));
  }

  /** Every kind that exists now. */
  get kinds(): KindLookup {
    return this.#kinds ??= new KindLookup(this.list(CRD_KIND) as Resource<CrdSpec>[]);
  }

  /** Another catalog, with changes that have not been committed. */
  with(changes: readonly CatalogChange[]): Catalog {
    const other = new Catalog([...this.#resources.values()]);
    other.change(changes);
    return other;
  }

  /** Calls `listener` before each change, while the catalog still is as it was. */
  beforeChange(listener: (changes: readonly CatalogChange[]) => void): void {
    this.#listener = listener;
  }

  /** Applies changes that have been committed, as version `stored`. */
  change(changes: readonly CatalogChange[], stored = this.#stored): void {
    this.#stored = stored;
    this.#listener(changes);
    for (const change of changes) {
      if (change.op === "put") this.#resources.set(keyOf(change.resource), change.resource);
      else this.#resources.delete(keyOf(change.key));
    }
    this.#version++;
    this.#kinds = undefined;
  }

  /** The changes that make this catalog hold `resources`. */
  changesTo(resources: readonly Resource[]): readonly CatalogChange[] {
    const target = new Map(resources.map((resource) => [keyOf(resource), resource]));
    const gone = [...this.#resources].filter(([key]) => !target.has(key));
    const puts = [...target].filter(([key, one]) => !isSame(this.#resources.get(key), one));
    return [
      ...gone.map(([, key]) => ({ op: "delete", key }) as const),
      ...puts.map(([, resource]) => ({ op: "put", resource }) as const),
    ];
  }
}

/** Whether two resources are the same: each change raises the generation, a new one is created later. */
function isSame(known: Resource | undefined, { generation, createdAt, updatedAt }: Resource) {
  return known?.generation === generation && known.createdAt === createdAt &&
    known.updatedAt === updatedAt;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
