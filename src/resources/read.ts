/**
 * Documents to resources: checks the envelope, the kind's schema, and what a schema cannot express.
 * Reports every finding at once; a document with an error gives no resource.
 *
 * @module
 */

import Type from "typebox";
import { findMeant } from "../base/similar_names.ts";
import type { AnyKind } from "./kind.ts";
import type { KindLookup } from "./kind_lookup.ts";
import { type Metadata, MetadataSchema } from "./metadata.ts";
import {
  DEFAULT_PROJECT,
  errorAt,
  type FieldPath,
  type Finding,
  type ResourceKey,
  warningAt,
} from "./resource.ts";
import { compileSchema, type Validator } from "./validate.ts";

/** A resource as written in a manifest. */
export interface ManifestResource extends ResourceKey {
  /** `metadata`, without name and project. */
  readonly metadata: Omit<Metadata, "name" | "project">;
  /** `spec`, which has passed its kind's schema. */
  readonly spec: unknown;
}

/** The result of reading one document. */
export interface ReadResult {
  /** The resource; absent when a finding is an error. */
  readonly resource?: ManifestResource;
  readonly findings: readonly Finding[];
}

/** The API version of the built-in kinds. */
const OWN_API_VERSION = "svc/v1";

const Envelope = Type.Object({
  apiVersion: Type.Optional(Type.String()),
  kind: Type.String({ minLength: 1 }),
  metadata: MetadataSchema,
  spec: Type.Optional(Type.Unknown()),
  status: Type.Optional(Type.Unknown()), // the daemon's: what `svc get -o yaml` prints applies again
}, {
  additionalProperties: false,
  title: 'a resource: a mapping with "kind", "metadata" and "spec"',
});

const envelope = compileSchema(Envelope);
/** Compiled schemas by their schema; an entry goes with its schema. */
const specs = new WeakMap<object, Validator>();

/** JSON Schema of whole documents of a kind, for editors (`svc schema KIND`). */
export function documentSchema(kind: AnyKind): object {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: kind.kind,
    description: kind.summary,
    ...Type.Object({
      apiVersion: Type.Optional(Type.String()),
      kind: Type.Literal(kind.kind),
      metadata: MetadataSchema,
      spec: kind.specOptional === true ? Type.Optional(kind.spec) : kind.spec,
    }, { additionalProperties: false }),
  };
}

/** Context of a document. */
export interface ReadOptions {
  readonly kinds: KindLookup;
  /** Project of the resource, whatever the document names. */
  readonly project?: string;
}

/** Reads one parsed document. */
export function readDocument(value: unknown, { kinds, project }: ReadOptions): ReadResult {
  const kindName = typeof value === "object" && value !== null && "kind" in value && value.kind;
  const kind = typeof kindName === "string" ? kinds.named(kindName) : undefined;
  const options = { showWords: kind !== undefined && !mayHoldSecrets(kind) };
  const findings = envelope.check(value, [], options);
  if (kind === undefined) {
    if (typeof kindName === "string" && kindName !== "") {
      findings.push(errorAt(["kind"], unknownKind(kindName, kinds.all.map((one) => one.kind))));
    }
    return { findings };
  }

  const document = value as Type.Static<typeof Envelope>;
  const spec = document.spec ?? (kind.specOptional === true ? {} : undefined);
  const version = findVersion(document.apiVersion, kind);
  const specFindings = spec === undefined
    ? [errorAt([], `Missing field "spec"`)]
    : validator(version.schema).check(spec, ["spec"], options);
  findings.push(...version.findings, ...specFindings);
  findings.push(...checkSpec(kind, { spec, name: document.metadata?.name }, specFindings));
  if (findings.some((finding) => finding.level === "error")) return { findings };

  const { name, project: own, ...metadata } = document.metadata;
  const home = kind.global ? "" : project ?? own ?? DEFAULT_PROJECT;
  return { resource: { kind: kind.kind, project: home, name, metadata, spec }, findings };
}

/** Whether a text in a field of this kind may be a secret, even a plain word. */
function mayHoldSecrets(kind: AnyKind): boolean {
  return kind.kind === "SecretStore" || kind.group !== undefined;
}

function unknownKind(name: string, known: readonly string[]): string {
  const near = findMeant(name, known);
  const meant = near === undefined ? ":" : `, did you mean "${near}"?`;
  return `Unknown kind "${name}"${meant} use one of ${known.join(", ")}`;
}

/** The schema of a document: that of its version, if its kind has versions. */
function findVersion(
  apiVersion: string | undefined,
  kind: AnyKind,
): { schema: object; findings: Finding[] } {
  const { group, versions = [] } = kind;
  const [own, name] = group === undefined
    ? [OWN_API_VERSION, ""]
    : (apiVersion ?? "").split("/", 2);
  const version = own === group ? versions.find((one) => one.name === name) : undefined;
  if (version !== undefined) return { schema: version.schema, findings: [] };
  if (own === group && apiVersion !== undefined) {
    const known = versions.map((one) => `${group}/${one.name}`).join(", ");
    const message = `Kind "${kind.kind}" has no version "${name}": use one of ${known}`;
    return { schema: kind.spec, findings: [errorAt(["apiVersion"], message)] };
  }
  const read = group === undefined ? OWN_API_VERSION : `${group}/${versions[0]?.name}`;
  const strange = apiVersion !== undefined && apiVersion !== OWN_API_VERSION;
  return {
    schema: kind.spec,
    findings: strange
      ? [warningAt(["apiVersion"], `"${apiVersion}" is not known here: read as ${read}`)]
      : [],
  };
}

function validator(schema: object): Validator {
  const cached = specs.get(schema);
  if (cached !== undefined) return cached;
  const compiled = compileSchema(schema);
  specs.set(schema, compiled);
  return compiled;
}

/**
 * Runs the checks that a schema cannot express, also where the schema found errors, so that all
 * errors are reported at once. Errors that a check throws then, and findings about a refused part,
 * follow from what the schema found and are left out.
 */
function checkSpec(
  kind: AnyKind,
  { spec, name }: { spec: unknown; name: unknown },
  refused: readonly Finding[],
): Finding[] {
  const { checkName, checks = [] } = kind;
  const all = typeof name === "string" && checkName !== undefined
    ? [...checks, (spec: unknown) => checkName(name, spec)]
    : checks;
  if (refused.length === 0) return all.flatMap((check) => check(spec));
  const places = refused.map(({ path, missing }) =>
    missing === undefined ? path : [...path, missing]
  );
  const rest = withoutRefused(spec, places.map((path) => path.slice(1).map(String)));
  return all.flatMap((check) => {
    try {
      return check(rest);
    } catch {
      return [];
    }
  }).filter(({ path, level }) =>
    level === "error" && !places.some((one) => isWithin(path, one) || isAt(path, one.slice(0, -1)))
  );
}

/**
 * A copy of `value` without the parts at `paths`. A refused item of a list becomes an empty
 * mapping, and an `id` stays, because other items name it.
 */
function withoutRefused(value: unknown, paths: readonly (readonly string[])[]): unknown {
  if (paths.length === 0 || typeof value !== "object" || value === null) return value;
  const inside = (key: string) => paths.flatMap(([first, ...rest]) => first === key ? [rest] : []);
  const keep = (key: string) => !inside(key).some((rest) => rest.length === 0);
  if (Array.isArray(value)) {
    return value.map((item, i) => keep(`${i}`) ? withoutRefused(item, inside(`${i}`)) : {});
  }
  return Object.fromEntries(
    Object.entries(value).filter(([key]) => keep(key) || key === "id")
      .map(([key, own]) => [key, withoutRefused(own, inside(key))]),
  );
}

function isWithin(path: FieldPath, outer: FieldPath): boolean {
  return outer.every((key, index) => String(key) === String(path[index]));
}

function isAt(path: FieldPath, other: FieldPath): boolean {
  return path.length === other.length && isWithin(path, other);
}
