/**
 * Documents to resources: the envelope, the kind's schema, what the schema cannot say. Reports every
 * finding at once; makes no resource of a document that has an error.
 *
 * @module
 */

import Type from "typebox";
import type { AnyKind } from "./kind.ts";
import { findKind, KINDS } from "./kinds.ts";
import {
  DEFAULT_PROJECT,
  errorAt,
  type Finding,
  type Metadata,
  MetadataSchema,
  type ResourceKey,
  warningAt,
} from "./resource.ts";
import { compileSchema, type Validator } from "./validate.ts";

/** A resource as a manifest states it. */
export interface Manifested extends ResourceKey {
  /** `metadata`, without name and project. */
  readonly metadata: Omit<Metadata, "name" | "project">;
  /** `spec`, which has passed its kind's schema. */
  readonly spec: unknown;
}

/** What one document came to. */
export interface ReadResult {
  /** The resource; absent when a finding is an error. */
  readonly resource?: Manifested;
  /** Everything there is to say about the document. */
  readonly findings: readonly Finding[];
}

/** The API group this program calls its own. */
const OWN_API_VERSION = "svc/v1";

const Envelope = Type.Object({
  apiVersion: Type.Optional(Type.String()),
  kind: Type.String({ minLength: 1 }),
  metadata: MetadataSchema,
  spec: Type.Optional(Type.Unknown()),
}, { additionalProperties: false });

const envelope = compileSchema(Envelope);
const specs = new Map<AnyKind, Validator>();

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

/** Reads one parsed document; `project` is where it goes when it names none itself. */
export function readDocument(value: unknown, project: string | undefined): ReadResult {
  const findings = envelope.check(value);
  const kindName = typeof value === "object" && value !== null && "kind" in value && value.kind;
  if (typeof kindName === "string" && kindName !== "" && findKind(kindName) === undefined) {
    const names = KINDS.map((kind) => kind.kind).join(", ");
    findings.push(errorAt(["kind"], `Unknown kind "${kindName}", there are ${names}`));
  }
  const kind = typeof kindName === "string" ? findKind(kindName) : undefined;
  if (kind === undefined) return { findings };

  const document = value as Type.Static<typeof Envelope>;
  const spec = document.spec ?? (kind.specOptional === true ? {} : undefined);
  const specFindings = spec === undefined
    ? [errorAt([], `Missing field "spec"`)]
    : specValidator(kind).check(spec, ["spec"]);
  findings.push(...specFindings);
  if (specFindings.length === 0) findings.push(...kind.check?.(spec) ?? []);
  if (document.apiVersion !== undefined && document.apiVersion !== OWN_API_VERSION) {
    findings.push(warningAt(["apiVersion"], `Read as ${OWN_API_VERSION}`));
  }
  if (findings.some((finding) => finding.level === "error")) return { findings };

  const { name, project: own, ...metadata } = document.metadata;
  const home = kind.global ? "" : project ?? own ?? DEFAULT_PROJECT;
  return { resource: { kind: kind.kind, project: home, name, metadata, spec }, findings };
}

function specValidator(kind: AnyKind): Validator {
  const known = specs.get(kind);
  if (known !== undefined) return known;
  const made = compileSchema(kind.spec);
  specs.set(kind, made);
  return made;
}
