/**
 * The definition of a kind of resource. A kind is one file that exports a definition, and a line
 * each in `kinds.ts` and `kind_names.ts`.
 *
 * @module
 */

import type { TSchema } from "typebox";
import type { FieldExpression } from "./expressions.ts";
import { KIND_NAMES, type KindName } from "./kind_names.ts";
import type { MachineNeed } from "./machine_needs.ts";
import type { FieldPath, Finding, Resource } from "./resource.ts";

/** A reference to another resource. */
export interface Reference {
  /** Kind of the other resource. */
  readonly kind: string;
  /** Its name, in the same project unless the kind is global. */
  readonly name: string;
  /** The key of a SecretStore, if the reference is to one of its keys. */
  readonly secretKey?: string;
  readonly path: FieldPath;
  /** The effect while it is missing, as the end of a sentence. */
  readonly consequence: string;
}

/** One column of `svc get`. */
export interface Column<Row> {
  readonly header: string;
  /** Only with `-o wide`. */
  readonly wide?: boolean;
  /** How a long cell is shortened: an id keeps its end, the others lose it. */
  readonly fit?: "id" | "name" | "text";
  /** Heading of another column with mostly the same cells. */
  readonly repeats?: string;
  /** Whether a narrow table leaves it out before it shortens names and texts. */
  readonly secondary?: boolean;
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
   * The checks that a schema cannot express; paths start at the document. Each runs by itself. A part
   * of the spec that the schema refused is left out before, and findings or errors about it do not
   * count.
   */
  readonly checks?: readonly ((spec: Spec) => Finding[])[];
  /** Checks `metadata.name`, where the spec determines it. */
  readonly checkName?: (name: string, spec: Spec) => Finding[];
  /** API group of its instances, for user-defined kinds. */
  readonly group?: string;
  /** Schemas by version, for user-defined kinds; `spec` is that of the first. */
  readonly versions?: readonly { readonly name: string; readonly schema: TSchema }[];
  /** References to other resources. */
  readonly references?: (spec: Spec) => Reference[];
  /** Its expressions that see the event of a task. */
  readonly expressions?: (spec: Spec) => FieldExpression[];
  /** Its needs on the machine of the daemon. */
  readonly machine?: (spec: Spec) => MachineNeed[];
  /** The spec without secrets; the spec itself when absent. */
  readonly mask?: (spec: Spec) => Spec;
  /** Columns of `svc get` between NAME and AGE. */
  readonly columns: readonly Column<Resource<Spec>>[];
}

/** A kind whose spec type is unknown where it is used; created only by {@linkcode defineKind}. */
export type AnyKind = KindDefinition<unknown>;

/**
 * A built-in kind, its spec type erased. Sound because the functions of a kind are only called with
 * a spec that passed that kind's schema.
 */
export function defineKind<Spec>(
  kind: KindName,
  definition: Omit<KindDefinition<Spec>, "kind" | keyof typeof KIND_NAMES[KindName]>,
): AnyKind {
  return { kind, ...KIND_NAMES[kind], ...definition } as unknown as AnyKind;
}
