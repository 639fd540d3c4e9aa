/**
 * The storage interface for resources.
 *
 * @module
 */

import type { Resource, ResourceKey } from "../resources/resource.ts";

/** A change of one resource. */
export type ResourceChange =
  | { readonly op: "put"; readonly resource: Resource }
  | { readonly op: "delete"; readonly key: ResourceKey };

/** The resources of the catalog. */
export interface ResourceStore {
  loadResources(): Promise<Resource[]>;
  /** Makes all changes, or none. */
  changeResources(changes: readonly ResourceChange[]): Promise<void>;
}
