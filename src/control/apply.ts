/**
 * Applies manifests (contract 2): reads everything, says everything that is wrong at once, then
 * changes all or nothing in one transaction.
 *
 * @module
 */

import { basename } from "node:path";
import type { ApplyOutcome, ManifestFile, Operations } from "../api/operations.ts";
import { AppError } from "../base/errors.ts";
import type { Catalog } from "../resources/catalog.ts";
import { CRD_KIND, type CrdSpec } from "../resources/custom_resource_definition.ts";
import { KindLookup } from "../resources/kind_lookup.ts";
import { formatFinding, type ManifestDocument, parseManifest } from "../resources/manifest.ts";
import { type Manifested, readDocument } from "../resources/read.ts";
import {
  displayName,
  errorAt,
  type Finding,
  keyOf,
  type Resource,
  warningAt,
} from "../resources/resource.ts";
import { isPlaceholder, type SecretStoreSpec } from "../resources/secret_store.ts";
import type { TriggerSpec } from "../resources/trigger.ts";
import { runHook } from "../plugins/hooks.ts";
import type { PluginHost } from "../plugins/run_plugin.ts";
import { type AgainstHost, compareAgainst } from "./against.ts";
import type { Caller } from "./caller.ts";
import { checkMayChange, checkPolicy, type CodeHost } from "./check_code.ts";
import type { ResourceWriter } from "./resource_writer.ts";

/** What an apply needs. */
export interface ApplyHost extends AgainstHost, CodeHost {
  /** Runs hooks. */
  readonly plugins: PluginHost;
  /** What there is. */
  readonly catalog: Catalog;
  /** Commits changes. */
  readonly writer: ResourceWriter;
}

/** A template of this name is skipped in a directory until it has been filled in (contract 2). */
const SECRETS_TEMPLATE = "secrets-template.yaml";

/** Values shorter than this can be guessed, in bytes. */
const WEAK_SECRET_BYTES = 16;

interface Read {
  readonly document: ManifestDocument;
  readonly resource: Manifested;
}

/**
 * Applies the files of a request.
 *
 * @throws {AppError} `invalid`, with every finding, when anything is wrong; nothing has changed then.
 */
export function apply(
  request: Operations["apply"]["in"],
  caller: Caller,
  host: ApplyHost,
): Promise<Operations["apply"]["out"]> {
  return host.writer.exclusively(async (commit) => {
    const { read, errors, warnings, kinds } = readFiles(request, host.catalog);
    if (errors.length > 0) {
      const count = errors.length === 1 ? "1 error" : `${errors.length} errors`;
      throw new AppError("invalid", `Nothing was applied: ${count}`, { details: errors });
    }
    if (read.length === 0) {
      throw new AppError("invalid", "Nothing to apply: the input holds no resource", {
        details: warnings,
      });
    }
    const { catalog, clock } = host;
    const resources = read.map(({ resource }) => resource);
    const check = { caller, dryRun: request.dry_run };
    await checkMayChange(resources, check, host);
    const crds = resources.filter(({ kind }) => kind === CRD_KIND);
    warnings.push(...await checkPolicy(crds, check, host));
    warnings.push(...read.flatMap((one) => danglingReferences(one, { read, catalog, kinds })));
    warnings.push(...weakSecrets(read, catalog));
    const changes = read.map(({ resource }) => toChange(resource, catalog, clock.now()));
    const puts = changes.filter((change) => change.action !== "unchanged")
      .map(({ resource }) => ({ op: "put", resource }) as const);
    const results = changes.map(toOutcome);
    if (!request.dry_run) {
      await commit(puts);
      return { results, warnings, hook_failures: await runHooks(changes, host) };
    }
    if (request.against_secs === undefined) return { results, warnings, hook_failures: [] };
    const against = await compareAgainst(request.against_secs, catalog.with(puts), host);
    return { results, warnings, hook_failures: [], against };
  });
}

function readFiles({ files, project }: Operations["apply"]["in"], catalog: Catalog) {
  const errors: string[] = [];
  const warnings: string[] = [];
  const documents: ManifestDocument[] = [];
  for (const file of files) {
    const manifest = parseManifest(file.name, file.text);
    if (file.fromDirectory === true && isUnfilledTemplate(file, manifest.documents)) {
      warnings.push(
        `${file.name}: skipped, it still holds placeholders: fill it in and apply it by name`,
      );
      continue;
    }
    errors.push(...manifest.errors);
    warnings.push(...manifest.warnings);
    documents.push(...manifest.documents);
  }
  const kinds = kindsWith(documents, catalog);
  const read: Read[] = [];
  const seen = new Set<string>();
  for (const document of documents) {
    const options = { kinds, ...(project === undefined ? {} : { project }) };
    const { resource, findings } = readDocument(document.value, options);
    const all = [...findings, ...resource === undefined ? [] : clashes(resource, seen, kinds)];
    for (const finding of all) {
      (finding.level === "error" ? errors : warnings).push(formatFinding(document, finding));
    }
    if (resource === undefined) continue;
    seen.add(keyOf(resource));
    read.push({ document, resource });
  }
  return { read, errors, warnings, kinds };
}

/** A kind may be defined and used in one apply, in any order. */
function kindsWith(documents: readonly ManifestDocument[], catalog: Catalog): KindLookup {
  const before = catalog.list(CRD_KIND) as Resource<CrdSpec>[];
  const kinds = catalog.kinds;
  const stated = documents.flatMap(({ value }) => {
    if ((value as { kind?: unknown } | null)?.kind !== CRD_KIND) return [];
    return (readDocument(value, { kinds }).resource ?? []) as Manifested & { spec: CrdSpec };
  });
  const kept = before.filter(({ name }) => !stated.some((one) => one.name === name));
  return new KindLookup([...kept, ...stated]);
}

function clashes(resource: Manifested, seen: ReadonlySet<string>, kinds: KindLookup): Finding[] {
  const findings: Finding[] = [];
  if (seen.has(keyOf(resource))) {
    const message = `${displayName(resource)} stands in this apply twice`;
    findings.push(errorAt(["metadata", "name"], message));
  }
  if (resource.kind === CRD_KIND) {
    const taken = kinds.conflict({ name: resource.name, spec: resource.spec as CrdSpec });
    if (taken !== undefined) {
      findings.push(
        errorAt(["spec"], `Another kind is called "${taken}" already, choose another name`),
      );
    }
  }
  return findings;
}

function isUnfilledTemplate(file: ManifestFile, documents: readonly ManifestDocument[]): boolean {
  if (basename(file.name) !== SECRETS_TEMPLATE) return false;
  return documents.some(({ value }) => {
    const data = (value as { spec?: { data?: unknown } } | null)?.spec?.data;
    return typeof data === "object" && data !== null &&
      Object.values(data).some((one) => typeof one === "string" && isPlaceholder(one));
  });
}

/** A dangling reference is no error: the order of applies is free (contract 2). */
function danglingReferences(
  { document, resource }: Read,
  { read, catalog, kinds }: { read: readonly Read[]; catalog: Catalog; kinds: KindLookup },
): string[] {
  const references = kinds.named(resource.kind)?.references?.(resource.spec) ?? [];
  return references.filter(({ kind, name }) => {
    if (kind === CRD_KIND) return kinds.crd(name) === undefined; // named by the kind it brings
    const project = kinds.named(kind)?.global === true ? "" : resource.project;
    const key = { kind, project, name };
    return catalog.find(kind, project, name) === undefined &&
      !read.some((other) => keyOf(other.resource) === keyOf(key));
  }).map(({ kind, name, path, consequence }) =>
    formatFinding(document, warningAt(path, `${kind} "${name}" does not exist: ${consequence}`))
  );
}

/** Short values are warned about only in stores that sign webhooks (security 2). */
function weakSecrets(read: readonly Read[], catalog: Catalog): string[] {
  const triggers = [...catalog.list("Trigger"), ...read.map((one) => one.resource)]
    .filter((one) => one.kind === "Trigger");
  const signs = ({ project, name }: Manifested) =>
    triggers.some((trigger) =>
      trigger.project === project &&
      (trigger.spec as TriggerSpec).event.webhook?.secret?.fromRef === name
    );
  return read.filter(({ resource }) => resource.kind === "SecretStore" && signs(resource))
    .flatMap(({ document, resource }) =>
      Object.entries((resource.spec as SecretStoreSpec).data)
        .filter(([, value]) => new TextEncoder().encode(value).length < WEAK_SECRET_BYTES)
        .map(([key]) =>
          formatFinding(
            document,
            warningAt(
              ["spec", "data", key],
              `Shorter than ${WEAK_SECRET_BYTES} bytes, a signature made with it can be guessed`,
            ),
          )
        )
    );
}

interface Change {
  readonly resource: Resource;
  readonly action: ApplyOutcome["action"];
}

function toChange(stated: Manifested, catalog: Catalog, now: number): Change {
  const before = catalog.find(stated.kind, stated.project, stated.name);
  const resource = {
    ...stated,
    generation: (before?.generation ?? 0) + 1,
    createdAt: before?.createdAt ?? now,
    updatedAt: now,
  };
  if (before === undefined) return { resource, action: "created" };
  const same = sameJson(before.metadata, stated.metadata) && sameJson(before.spec, stated.spec);
  return same ? { resource: before, action: "unchanged" } : { resource, action: "configured" };
}

/** After the commit, one after the other: what a hook does is not undone, only reported. */
async function runHooks(changes: readonly Change[], host: ApplyHost): Promise<string[]> {
  const failures: string[] = [];
  for (const { resource, action } of changes) {
    const crd = host.catalog.kinds.crd(resource.kind);
    if (crd === undefined || action === "unchanged") continue;
    const happened = action === "created" ? "create" : "update";
    const failure = await runHook({ crd: crd.spec, resource, action: happened }, host.plugins);
    if (failure !== undefined) failures.push(failure);
  }
  return failures;
}

function toOutcome({ resource, action }: Change): ApplyOutcome {
  return { name: displayName(resource), project: resource.project, action };
}

/** Whether two JSON values are equal; the order of keys does not count. */
function sameJson(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [left, right] = [Object.entries(a), b as Record<string, unknown>];
  return left.length === Object.keys(right).length &&
    left.every(([key, value]) => Object.hasOwn(right, key) && sameJson(value, right[key]));
}
