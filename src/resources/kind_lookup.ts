/**
 * Every kind there is at a moment: the built-in ones, and those that CustomResourceDefinitions
 * bring.
 *
 * @module
 */

import { CRD_KIND, type CrdSpec } from "./custom_resource_definition.ts";
import type { AnyKind } from "./kind.ts";
import { KINDS } from "./kinds.ts";
import { findRecordName } from "./record_names.ts";

/** A CustomResourceDefinition, as far as its kind goes. */
export interface CrdLike {
  /** `metadata.name`. */
  readonly name: string;
  /** Its `spec`. */
  readonly spec: CrdSpec;
}

/** Finds kinds. */
export class KindLookup {
  /** Every kind, the built-in ones first. */
  readonly all: readonly AnyKind[];
  readonly #crds: readonly CrdLike[];

  /** The built-in kinds and those of `crds`. */
  constructor(crds: readonly CrdLike[]) {
    this.#crds = crds;
    this.all = [...KINDS, ...crds.map(({ spec }) => kindOf(spec))];
  }

  /** The kind whose `kind:` is exactly `name`. */
  named(name: string): AnyKind | undefined {
    return this.all.find((definition) => definition.kind === name);
  }

  /** The kind a person means: singular, plural or short name, in any case. */
  byAnyName(name: string): AnyKind | undefined {
    const wanted = name.toLowerCase();
    return this.all.find((definition) => namesOf(definition).includes(wanted));
  }

  /**
   * Why a CustomResourceDefinition cannot have its names, if one is taken: a beginning of a
   * sentence.
   */
  conflict(crd: CrdLike): string | undefined {
    const own = namesOf(kindOf(crd.spec));
    const record = own.find((name) => findRecordName(name) !== undefined);
    if (record !== undefined) return `"${record}" is what svc calls records of its own`;
    const others = new KindLookup(this.#crds.filter(({ name }) => name !== crd.name));
    const taken = others.all.flatMap(namesOf).find((name) => own.includes(name));
    return taken === undefined ? undefined : `Another kind is called "${taken}" already`;
  }

  /** The CustomResourceDefinition that brings the kind `name`. */
  crd(name: string): CrdLike | undefined {
    return this.#crds.find(({ spec }) => spec.kind === name);
  }
}

function namesOf(kind: AnyKind): string[] {
  return [kind.kind.toLowerCase(), kind.plural, ...kind.shortNames];
}

/** The kind of a CRD's instances. */
function kindOf(spec: CrdSpec): AnyKind {
  const [first] = spec.versions;
  return {
    kind: spec.kind,
    plural: spec.plural,
    shortNames: [...spec.singular === undefined ? [] : [spec.singular], ...spec.shortNames ?? []],
    global: false,
    summary: `Defined by ${CRD_KIND} "${spec.plural}.${spec.group}".`,
    spec: first?.schema ?? {},
    group: spec.group,
    versions: spec.versions,
    columns: [],
  };
}
