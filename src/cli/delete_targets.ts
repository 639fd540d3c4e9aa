/**
 * The resources that the manifests of `svc delete -f` name.
 *
 * @module
 */

import type { DeleteTarget, ManifestFile } from "../api/resource_operations.ts";
import { AppError } from "../base/errors.ts";
import { itemsOf, type ManifestDocument, parseManifest } from "../resources/manifest.ts";
import { isUnfilledTemplate } from "../resources/secrets_template.ts";

/**
 * The names of the resources in manifests, whatever else these say, last first: a resource mostly
 * follows those to which it refers. A template whose secrets were never filled in is left out.
 *
 * @throws {AppError} `invalid` with every error.
 */
export function targetsOf(files: readonly ManifestFile[]): DeleteTarget[] {
  const errors: string[] = [];
  const targets: DeleteTarget[] = [];
  for (const { name: file, text, fromDirectory } of files) {
    const manifest = parseManifest(file, text);
    const documents = manifest.documents.flatMap(itemsOf);
    if (fromDirectory === true && isUnfilledTemplate(file, documents)) continue;
    errors.push(...manifest.errors);
    for (const document of documents) {
      const target = targetOf(document);
      if (target !== undefined) targets.unshift(target);
      else {
        const place = document.locate([]);
        errors.push(`${place}: "kind" and "metadata.name" say what to delete, one is missing`);
      }
    }
  }
  if (errors.length === 0) return targets;
  throw new AppError("invalid", "Nothing was deleted: the input cannot be read", {
    details: errors,
  });
}

function targetOf({ value }: ManifestDocument): DeleteTarget | undefined {
  const { kind, metadata } = (value ?? {}) as { kind?: unknown; metadata?: unknown };
  const { name, project } = (metadata ?? {}) as { name?: unknown; project?: unknown };
  if (typeof kind !== "string" || typeof name !== "string") return undefined;
  return { what: kind, names: [name], ...(typeof project === "string" ? { project } : {}) };
}
