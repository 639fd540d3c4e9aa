/**
 * Manifests to resources: all checks that need only the manifests. Checks against applied resources
 * are returned as {@linkcode Mention}s for the caller. Pure, with plain data as input and output,
 * so that it can run in a separate process.
 *
 * @module
 */

import { utf8 } from "../base/bytes.ts";
import { defined } from "../base/defined.ts";
import type { PlacedEndpoint } from "./endpoints.ts";
import { CRD_KIND, type CrdSpec } from "./custom_resource_definition.ts";
import { type CrdLike, KindLookup } from "./kind_lookup.ts";
import { type FieldRead, readsOf } from "./expressions.ts";
import type { MachineNeed } from "./machine_needs.ts";
import { formatFinding, itemsOf, type ManifestDocument, parseManifest } from "./manifest.ts";
import { type ManifestResource, readDocument } from "./read.ts";
import {
  displayName,
  errorAt,
  type FieldPath,
  type Finding,
  keyOf,
  type ResourceKey,
  warningAt,
} from "./resource.ts";
import { PERSON_KIND, type PersonSpec, type PlacedIdentity } from "./person.ts";
import { platformUses } from "./platform_uses.ts";
import { type Lack, needsOf, possibleLacks } from "./users.ts";
import { MASK } from "./names.ts";
import type { SecretStoreSpec } from "./secret_store.ts";
import { isUnfilledTemplate } from "./secrets_template.ts";
import type { TriggerSpec } from "./trigger.ts";

/** Secrets shorter than this can be guessed, in bytes. */
const WEAK_SECRET_BYTES = 16;

/** Most errors, and most warnings, that are reported for one input. */
const MAX_REPORTED = 1000;

/** The input of a read. */
export interface ManifestInput {
  /** Texts with their file names. */
  readonly files: readonly {
    readonly name: string;
    readonly text: string;
    readonly fromDirectory?: boolean;
  }[];
  /** Project of all resources, whatever they name. */
  readonly project?: string | undefined;
  /** User-defined kinds that are applied already. */
  readonly crds: readonly CrdLike[];
}

/** A warning about a resource; the applied resources tell whether it applies. */
export interface Mention extends ResourceKey {
  readonly warning: string;
}

/**
 * A reference, and the warning that applies if the resource or key that it names does not exist.
 */
export type MentionedNeed = Mention & Lack;

/** A secret that is written as `***`, and the error if there is no value that could stay. */
export interface MaskedSecret extends ResourceKey {
  /** Key in the SecretStore. */
  readonly secretKey: string;
  readonly error: string;
}

/** A need of a resource of the input. */
export interface PlacedNeed {
  readonly project: string;
  readonly need: MachineNeed;
  /** Name of the Agent that has it, if it is one. */
  readonly agent?: string;
  /** Beginning of a warning: `FILE:LINE:COLUMN: path.to.field: `. */
  readonly place: string;
}

/** A value that an expression of the input reads. */
export interface PlacedRead extends ResourceKey, Pick<FieldRead, "path" | "trigger"> {
  /** Name of the field with the expression. */
  readonly field: string;
  /** Beginning of a warning: `FILE:LINE:COLUMN: path.to.field: `. */
  readonly place: string;
}

/** A use of a platform by a trigger of the input. */
export interface PlacedUse {
  readonly project: string;
  /** Name of the trigger. */
  readonly name: string;
  /** Path of the field that needs it, with dots. */
  readonly field: string;
  /** Beginning of a warning: `FILE:LINE:COLUMN: path.to.field: `. */
  readonly place: string;
}

/** The result of a read. */
export interface ManifestsRead {
  /** Its resources, in their order. */
  readonly resources: readonly ManifestResource[];
  /** Errors, each as `FILE:LINE:COLUMN: message`. */
  readonly errors: readonly string[];
  /** Warnings, in the same form. */
  readonly warnings: readonly string[];
  /** References to resources that are not in the input, and to keys of SecretStores. */
  readonly mentions: readonly MentionedNeed[];
  /** Warnings about short values, which apply if their SecretStore signs webhooks. */
  readonly weakSecrets: readonly Mention[];
  /** Needs of the machine. */
  readonly machine: readonly PlacedNeed[];
  /** Values of events that its expressions read. */
  readonly reads: readonly PlacedRead[];
  /** Secrets that keep their stored value. */
  readonly masked: readonly MaskedSecret[];
  /** Its triggers that take requests. */
  readonly endpoints: readonly PlacedEndpoint[];
  /** Identities of its Persons. */
  readonly identities: readonly PlacedIdentity[];
  /** Uses of platforms by its triggers. */
  readonly uses: readonly PlacedUse[];
}

/** The parsed documents of an input. */
export interface ParsedFiles {
  /** All documents, in their order. */
  readonly documents: readonly ManifestDocument[];
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

interface Read {
  readonly document: ManifestDocument;
  readonly resource: ManifestResource;
}

/** Parses files into documents; an unfilled template of a directory is skipped with a warning. */
export function parseFiles(files: ManifestInput["files"]): ParsedFiles {
  const errors: string[] = [];
  const warnings: string[] = [];
  const documents: ManifestDocument[] = [];
  for (const file of files) {
    const manifest = parseManifest(file.name, file.text);
    const items = manifest.documents.flatMap(itemsOf);
    if (file.fromDirectory === true && isUnfilledTemplate(file.name, items)) {
      warnings.push(
        `${file.name}: skipped, it still holds placeholders: fill it in and apply it by name`,
      );
      continue;
    }
    for (const error of manifest.errors) errors.push(error);
    for (const warning of manifest.warnings) warnings.push(warning);
    for (const document of items) documents.push(document);
  }
  return { documents, errors, warnings };
}

/** Reads an input; `parsed` are its parsed files. */
export function readManifests(
  { files, project, crds }: ManifestInput,
  parsed: ParsedFiles = parseFiles(files),
): ManifestsRead {
  const errors = [...parsed.errors];
  const warnings = [...parsed.warnings];
  const kinds = kindsWith(parsed.documents, crds);
  const read: Read[] = [];
  const seen = new Set<string>();
  for (const document of parsed.documents) {
    const options = { kinds, ...defined({ project }) };
    const { resource, findings } = readDocument(document.value, options);
    const all = [...findings, ...resource === undefined ? [] : clashes(resource, seen, kinds)];
    for (const finding of all) {
      const lines = finding.level === "error" ? errors : warnings;
      if (lines.length <= MAX_REPORTED) lines.push(formatFinding(document, finding));
    }
    if (resource === undefined) continue;
    seen.add(keyOf(resource));
    read.push({ document, resource });
  }
  return {
    resources: read.map(({ resource }) => resource),
    errors: bounded(errors),
    warnings: bounded(warnings),
    mentions: read.flatMap((one) => mentionsOf(one, seen, kinds)),
    weakSecrets: read.flatMap(weakSecretsOf),
    machine: read.flatMap((one) => machineNeedsOf(one, kinds)),
    reads: read.flatMap((one) => readsIn(one, kinds)),
    masked: read.flatMap(maskedOf),
    endpoints: read.flatMap(endpointsOf),
    identities: read.flatMap(identitiesIn),
    uses: read.flatMap(usesIn),
  };
}

function bounded(lines: readonly string[]): readonly string[] {
  return lines.length <= MAX_REPORTED
    ? lines
    : [...lines.slice(0, MAX_REPORTED), "and more like these"];
}

/**
 * All kinds, those of the input included: a kind may be defined and used in one apply, in any
 * order.
 */
function kindsWith(documents: readonly ManifestDocument[], before: readonly CrdLike[]): KindLookup {
  const known = new KindLookup(before);
  const defining = documents.flatMap(({ value }) => {
    if ((value as { kind?: unknown } | null)?.kind !== CRD_KIND) return [];
    return (readDocument(value, { kinds: known }).resource ?? []) as ManifestResource & {
      spec: CrdSpec;
    };
  });
  const names = new Set(defining.map(({ name }) => name));
  return new KindLookup([...before.filter(({ name }) => !names.has(name)), ...defining]);
}

function clashes(
  resource: ManifestResource,
  seen: ReadonlySet<string>,
  kinds: KindLookup,
): Finding[] {
  const findings: Finding[] = [];
  if (seen.has(keyOf(resource))) {
    const message = `${displayName(resource)} is in this apply twice`;
    findings.push(errorAt(["metadata", "name"], message));
  }
  if (resource.kind === CRD_KIND) {
    const taken = kinds.conflict({ name: resource.name, spec: resource.spec as CrdSpec });
    if (taken !== undefined) findings.push(errorAt(["spec"], `${taken}, choose another name`));
  }
  return findings;
}

/**
 * References to resources that are not in the input, and to keys; no errors, because the order of
 * applies is free.
 */
function mentionsOf(
  { document, resource }: Read,
  inputKeys: ReadonlySet<string>,
  kinds: KindLookup,
): MentionedNeed[] {
  return needsOf(resource, kinds).flatMap((need) =>
    possibleLacks(need).flatMap(({ lack, message }) => {
      const { path } = need.reference;
      if (lack.secretKey === undefined && inputKeys.has(keyOf(lack))) return [];
      const at = lack.secretKey === undefined ? path : [...path.slice(0, -1), "key"];
      const { kind, project, name, secretKey } = lack;
      const warning = formatFinding(document, warningAt(at, message));
      return [{ kind, project, name, ...defined({ secretKey }), warning }];
    })
  );
}

function machineNeedsOf({ document, resource }: Read, kinds: KindLookup): PlacedNeed[] {
  const { project, kind, name } = resource;
  return (kinds.named(resource.kind)?.machine?.(resource.spec) ?? []).map((need) => ({
    project,
    need,
    ...kind === "Agent" ? { agent: name } : {},
    place: formatFinding(document, warningAt(need.at, "")),
  }));
}

function readsIn({ document, resource }: Read, kinds: KindLookup): PlacedRead[] {
  const { kind, project, name, spec } = resource;
  const places = new Map<FieldPath, string>();
  const placeOf = (at: FieldPath) => {
    const place = places.get(at) ?? formatFinding(document, warningAt(at, ""));
    places.set(at, place);
    return place;
  };
  return readsOf(kinds.named(kind)?.expressions?.(spec) ?? []).map(({ at, path, trigger }) => ({
    kind,
    project,
    name,
    path,
    field: String(at.at(-1)),
    place: placeOf(at),
    ...defined({ trigger }),
  }));
}

function weakSecretsOf({ document, resource }: Read): Mention[] {
  if (resource.kind !== "SecretStore") return [];
  const { kind, project, name } = resource;
  return Object.entries((resource.spec as SecretStoreSpec).data)
    .filter(([, value]) => value !== MASK && utf8(value).length < WEAK_SECRET_BYTES)
    .map(([key]) => {
      const warning = warningAt(
        ["spec", "data", key],
        `Shorter than ${WEAK_SECRET_BYTES} bytes, a signature made with it can be guessed`,
      );
      return { kind, project, name, warning: formatFinding(document, warning) };
    });
}

function maskedOf({ document, resource }: Read): MaskedSecret[] {
  if (resource.kind !== "SecretStore") return [];
  const { kind, project, name } = resource;
  return Object.entries((resource.spec as SecretStoreSpec).data)
    .filter(([, value]) => value === MASK)
    .map(([secretKey]) => {
      const error = errorAt(
        ["spec", "data", secretKey],
        `*** keeps the stored value, but SecretStore "${name}" has no key "${secretKey}": ` +
          `write the secret itself, or set it with "svc secret set ${name} ${secretKey}" first`,
      );
      return { kind, project, name, secretKey, error: formatFinding(document, error) };
    });
}

function endpointsOf({ document, resource }: Read): PlacedEndpoint[] {
  const { kind, project, name, spec } = resource;
  if (kind !== "Trigger" || (spec as TriggerSpec).event.source !== "webhook") return [];
  const at = warningAt(["spec", "event", "webhook", "endpoint"], "");
  return [{ project, name, place: formatFinding(document, at) }];
}

function identitiesIn({ document, resource: { kind, name, spec } }: Read): PlacedIdentity[] {
  if (kind !== PERSON_KIND) return [];
  return ((spec as PersonSpec).is ?? []).map((identity, index) => ({
    name,
    identity,
    place: formatFinding(document, errorAt(["spec", "is", index], "")),
  }));
}

function usesIn({ document, resource }: Read): PlacedUse[] {
  const { kind, project, name, spec } = resource;
  if (kind !== "Trigger") return [];
  return platformUses(spec as TriggerSpec).map(({ at }) => ({
    project,
    name,
    field: at.join("."),
    place: formatFinding(document, warningAt(at, "")),
  }));
}
