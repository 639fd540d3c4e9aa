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
  /**
   * Makes all changes, or none; gives the version of the resources after it.
   *
   * @throws {AppError} `conflict` when a put is not the next version of what is stored: another
   * daemon has changed it meanwhile.
   */
  changeResources(changes: readonly ResourceChange[]): Promise<number>;
  /**
   * The version of the resources, which each change of any daemon raises; always 0 where only
   * one daemon can. Asked for before {@linkcode loadResources}, it is never too new for what that
   * gives.
   */
  resourceVersion(): Promise<number>;
  /** Records that this daemon decides by that version from now on. */
  adoptResources(version: number): Promise<void>;
  /**
   * Resolves once every other daemon decides by that version, or has ended. The wait for a silent
   * daemon is short: the store refuses its decisions by an older version.
   */
  awaitAdoption(version: number): Promise<void>;
}
