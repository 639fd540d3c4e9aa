/**
 * What the program knows about one kind of resource. A kind is one file that exports one of these,
 * and a line in `kinds.ts`.
 *
 * @module
 */

import type { TSchema } from "typebox";
import type { FieldPath, Finding, Resource } from "./resource.ts";

/** A name another resource is expected to have. */
export interface Reference {
  /** Kind of the resource that is meant. */
  readonly kind: string;
  /** Its name, in the same project unless the kind is global. */
  readonly name: string;
  /** Where it is named. */
  readonly path: FieldPath;
  /** What happens at run time while it is missing, as the end of a sentence. */
  readonly consequence: string;
}

/** One column of `svc get`. */
export interface Column<Row> {
  /** Heading, upper case. */
  readonly header: string;
  /** Only with `-o wide`. */
  readonly wide?: boolean;
  /** Text of one cell. */
  readonly cell: (row: Row) => string;
}

/** One kind of resource. */
export interface KindDefinition<Spec> {
  /** As written in `kind:`. */
  readonly kind: string;
  /** Lower-case plural, for `svc get`. */
  readonly plural: string;
  /** Further names for `svc get`, lower case. */
  readonly shortNames: readonly string[];
  /** Whether it lives outside projects. */
  readonly global: boolean;
  /** One sentence for help and for the JSON Schema. */
  readonly summary: string;
  /** JSON Schema of `spec`. */
  readonly spec: TSchema;
  /** Whether `spec` may be left out. */
  readonly specOptional?: boolean;
  /**
   * What the schema cannot say; runs only on a spec that has passed it. Paths start at the
   * document.
   */
  readonly check?: (spec: Spec) => Finding[];
  /** What is wrong with `metadata.name`, where the spec decides it. */
  readonly checkName?: (name: string, spec: Spec) => Finding[];
  /** API group of its instances, for kinds that a CustomResourceDefinition brings. */
  readonly group?: string;
  /** Schemas by version, for the same kinds; `spec` is that of the first. */
  readonly versions?: readonly { readonly name: string; readonly schema: TSchema }[];
  /** What the resource refers to by name. */
  readonly references?: (spec: Spec) => Reference[];
  /** The spec as anybody may see it; without this, as it is. */
  readonly mask?: (spec: Spec) => Spec;
  /** Columns of `svc get` between NAME and AGE. */
  readonly columns: readonly Column<Resource<Spec>>[];
}

/** A kind whose spec type is not known where it is used; made by {@linkcode defineKind} only. */
export type AnyKind = KindDefinition<unknown>;

/**
 * Forgets the spec type of a kind. Sound because the functions of a kind are only ever called with
 * a spec that has passed that kind's own schema.
 */
export function defineKind<Spec>(definition: KindDefinition<Spec>): AnyKind {
  return definition as unknown as AnyKind;
}
