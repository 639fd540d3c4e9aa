/**
 * The integration packages in the program. All facts about a package come from its own files. Applies
 * nothing.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { EMBEDDED_FILES } from "./embedded.ts";

/** One file of a package. */
export interface PackageFile {
  /** Path in the package's directory, such as `trigger-push.yaml` or `crd/README.md`. */
  readonly path: string;
  readonly text: string;
}

/** A package of `integrations/`, with its files. */
export interface IntegrationPackage {
  /** Name of its directory. */
  readonly name: string;
  /** Name of the other system, as people write it. */
  readonly title: string;
  /** The purpose of the package, in one sentence. */
  readonly summary: string;
  /** All files, in the order of their paths. */
  readonly files: readonly PackageFile[];
}

/** Name of the file with the SecretStores that the user fills in. */
export const SECRETS_TEMPLATE = "secrets-template.yaml";

/** Names of the packages. */
export const PACKAGE_NAMES: readonly string[] = namesIn(EMBEDDED_FILES);

function namesIn(files: Readonly<Record<string, string>>): string[] {
  return [...new Set(Object.keys(files).map((path) => path.split("/", 1)[0] ?? ""))].sort();
}

/** The packages among `files`, by default those that are built in, in the order of their names. */
export function listPackages(
  files: Readonly<Record<string, string>> = EMBEDDED_FILES,
): readonly IntegrationPackage[] {
  return namesIn(files).map((name) => {
    const own = Object.entries(files).filter(([path]) => path.startsWith(`${name}/`))
      .map(([path, text]) => ({ path: path.slice(name.length + 1), text }));
    const guide = own.find(({ path }) => path === "README.md")?.text ?? "";
    const [, title = name, summary = ""] = /^# (.+)\n\n(.+?)(?:\. |\.?\n)/.exec(guide) ?? [];
    return { name, title, summary, files: own };
  });
}

/**
 * The package with a name.
 *
 * @throws {AppError} `not_found`.
 */
export function packageNamed(name: string): IntegrationPackage {
  const packages = listPackages();
  const pack = packages.find((pack) => pack.name === name);
  if (pack !== undefined) return pack;
  const names = packages.map((pack) => pack.name).join(", ");
  throw new AppError("not_found", `Unknown integration "${name}": use one of ${names}`);
}

/** The label of every resource of the package, as a selector. */
export function labelOf({ name }: IntegrationPackage): string {
  return `integration=${name}`;
}

/** The files that are applied: as with `svc apply -f DIR`, not those in folders below. */
export function manifestsOf({ files }: IntegrationPackage): readonly PackageFile[] {
  return files.filter(({ path }) => /^[^/]+\.yaml$/.test(path) && path !== SECRETS_TEMPLATE);
}
