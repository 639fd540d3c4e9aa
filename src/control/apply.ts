/**
 * Applies manifests (contract 2): reads everything, says everything that is wrong at once, then
 * changes all or nothing in one transaction.
 *
 * @module
 */

import { basename } from "node:path";
import type { ApplyOutcome, ManifestFile, Operations } from "../api/operations.ts";
import type { Clock } from "../base/clock.ts";
import { AppError } from "../base/errors.ts";
import type { Catalog } from "../resources/catalog.ts";
import { findKind } from "../resources/kinds.ts";
import { formatFinding, type ManifestDocument, parseManifest } from "../resources/manifest.ts";
import { type Manifested, readDocument } from "../resources/read.ts";
import { displayName, errorAt, keyOf, type Resource, warningAt } from "../resources/resource.ts";
import { isPlaceholder, type SecretStoreSpec } from "../resources/secret_store.ts";
import type { TriggerSpec } from "../resources/trigger.ts";
import type { ResourceWriter } from "./resource_writer.ts";

/** What an apply needs. */
export interface ApplyHost {
  /** What there is. */
  readonly catalog: Catalog;
  /** Commits changes. */
  readonly writer: ResourceWriter;
  /** The time. */
  readonly clock: Clock;
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
  host: ApplyHost,
): Promise<Operations["apply"]["out"]> {
  return host.writer.exclusively(async (commit) => {
    const { read, errors, warnings } = readFiles(request.files, request.project);
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
    warnings.push(...read.flatMap((one) => danglingReferences(one, read, catalog)));
    warnings.push(...weakSecrets(read, catalog));
    const changes = read.map(({ resource }) => toChange(resource, catalog, clock.now()));
    if (!request.dry_run) {
      await commit(
        changes.filter((change) => change.action !== "unchanged")
          .map(({ resource }) => ({ op: "put", resource })),
      );
    }
    return { results: changes.map(toOutcome), warnings };
  });
}

function readFiles(files: readonly ManifestFile[], project: string | undefined) {
  const read: Read[] = [];
  const errors: string[] = [];
  const warnings: string[] = [];
  const seen = new Set<string>();
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
    for (const document of manifest.documents) {
      const { resource, findings } = readDocument(document.value, project);
      const all = [...findings];
      if (resource !== undefined && seen.has(keyOf(resource))) {
        all.push(
          errorAt(["metadata", "name"], `${displayName(resource)} stands in this apply twice`),
        );
      }
      for (const finding of all) {
        (finding.level === "error" ? errors : warnings).push(formatFinding(document, finding));
      }
      if (resource === undefined) continue;
      seen.add(keyOf(resource));
      read.push({ document, resource });
    }
  }
  return { read, errors, warnings };
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
function danglingReferences(one: Read, read: readonly Read[], catalog: Catalog): string[] {
  const { document, resource } = one;
  const references = findKind(resource.kind)?.references?.(resource.spec) ?? [];
  return references.filter((reference) => {
    const project = findKind(reference.kind)?.global === true ? "" : resource.project;
    const key = { kind: reference.kind, project, name: reference.name };
    return catalog.find(key.kind, key.project, key.name) === undefined &&
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
