/**
 * The envelope of every resource: kind, metadata, spec, and the fields that the program adds.
 * Independent of kinds.
 *
 * @module
 */

import type { Metadata } from "./metadata.ts";

/** Project of a resource that names none. */
export const DEFAULT_PROJECT = "default";

/** One resource; `spec` has passed its kind's schema. */
export interface Resource<Spec = unknown> {
  readonly kind: string;
  /** Project it lives in; empty for a global kind. */
  readonly project: string;
  readonly name: string;
  /** `metadata`, without what `project` and `name` say. */
  readonly metadata: Omit<Metadata, "name" | "project">;
  /** `spec`, in the shape of the kind. */
  readonly spec: Spec;
  /** Number of changes of metadata and spec, from 1. */
  readonly generation: number;
  /** Milliseconds since the epoch of the first apply. */
  readonly createdAt: number;
  /** Milliseconds since the epoch of the last change. */
  readonly updatedAt: number;
  /**
   * When the value of each key of a SecretStore was set, or `suspend` of a suspended Trigger: the
   * last two times, the newest first, in milliseconds since the epoch. Values from before such
   * times were kept have none.
   */
  readonly valuesChangedAt?: Readonly<Record<string, readonly number[]>>;
}

/** The key of a resource. */
export interface ResourceKey {
  readonly kind: string;
  /** Project; empty for a global kind. */
  readonly project: string;
  readonly name: string;
}

/** `kind/name` in lower case, as the command line prints it. */
export function displayName(key: ResourceKey): string {
  return `${key.kind.toLowerCase()}/${key.name}`;
}

/**
 * Key of a resource as one text, for maps. Names have no line break, so two resources never share
 * one.
 */
export function keyOf(key: ResourceKey): string {
  return `${key.kind}\n${key.project}\n${key.name}`;
}

/** Path of a field in a document: keys and list positions from the root. */
export type FieldPath = readonly (string | number)[];

/** An error or warning about one field of a document. */
export interface Finding {
  readonly path: FieldPath;
  /** One sentence with the fault and its remedy. */
  readonly message: string;
  /** An error refuses the whole apply; a warning does not. */
  readonly level: "error" | "warning";
  /** Name of the field that is missing at `path`. */
  readonly missing?: string;
}

/** A finding that refuses the apply. */
export function errorAt(path: FieldPath, message: string): Finding {
  return { path, message, level: "error" };
}

/** A finding that is only shown. */
export function warningAt(path: FieldPath, message: string): Finding {
  return { path, message, level: "warning" };
}
