/**
 * The SecretStores of an integration package, filled with what the user gives.
 *
 * @module
 */

import type { Client } from "../api/client.ts";
import type { ManifestFile } from "../api/resource_operations.ts";
import { fillStore } from "../integrations/fill_secrets.ts";
import type { SecretTemplate } from "../integrations/package_resources.ts";
import type { Context, PROJECT } from "./command.ts";
import { findSpec } from "./find_spec.ts";

/** The templates of a package. */
export interface PackageTemplates {
  /** Name of the package. */
  readonly name: string;
  readonly templates: readonly SecretTemplate[];
}

/**
 * The SecretStores to apply, filled in, and the names of those that stay as they are.
 *
 * @throws {AppError} as {@linkcode fillStore}.
 */
export async function fillSecrets(
  { name: pack, templates }: PackageTemplates,
  given: ReadonlyMap<string, string>,
  { client, context }: { client: Client; context: Context<[typeof PROJECT]> },
): Promise<{ files: ManifestFile[]; kept: string[] }> {
  const files: ManifestFile[] = [];
  const kept: string[] = [];
  for (const { name, labels, keys } of templates) {
    const at = { what: "secretstore", name, ...context.project() } as const;
    const existing = (await findSpec<{ data: Record<string, string> }>(at, client))?.data;
    const data = fillStore({ keys, existing }, given);
    if (data === undefined) {
      kept.push(`secretstore/${name}`);
      continue;
    }
    const store = { kind: "SecretStore", metadata: { name, labels }, spec: { data } };
    files.push({ name: `${pack}/secrets-template.yaml`, text: JSON.stringify(store, null, 2) });
  }
  return { files, kept };
}
