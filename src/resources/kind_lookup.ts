/**
 * All kinds that exist at a moment: the built-in ones, and those that CustomResourceDefinitions
 * define.
 *
 * @module
 */

import { CRD_KIND, type CrdSpec } from "./custom_resource_definition.ts";
import type { AnyKind } from "./kind.ts";
import { KINDS } from "./kinds.ts";
import { findRecordName, isBudgets } from "./record_names.ts";

/** The part of a CustomResourceDefinition that defines its kind. */
export interface CrdLike {
  /** `metadata.name`. */
  readonly name: string;
  readonly spec: CrdSpec;
}

/** Finds kinds by name. */
export class KindLookup {
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

  /** The kind by any of its names: singular, plural or short name, in any case. */
  byAnyName(name: string): AnyKind | undefined {
    const lower = name.toLowerCase();
    return this.all.find((definition) => namesOf(definition).includes(lower));
  }

  /**
   * The reason why a CustomResourceDefinition cannot have its names, as the beginning of a
   * sentence; `undefined` when they are free.
   */
  conflict(crd: CrdLike): string | undefined {
    const own = namesOf(kindOf(crd.spec));
    const record = own.find((name) => findRecordName(name) !== undefined || isBudgets(name));
    if (record !== undefined) return `"${record}" is a name of svc's own records`;
    const others = new KindLookup(this.#crds.filter(({ name }) => name !== crd.name));
    const taken = others.all.flatMap(namesOf).find((name) => own.includes(name));
    return taken === undefined ? undefined : `Another kind is already called "${taken}"`;
  }

  /** The CustomResourceDefinition that defines the kind `name`. */
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
