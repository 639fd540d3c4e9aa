/**
 * The file of a package in which users fill in secrets.
 *
 * @module
 */

import { basename } from "node:path";
import type { ManifestDocument } from "./manifest.ts";

/** Name of a template. In a directory it is skipped until it is filled in. */
const SECRETS_TEMPLATE = "secrets-template.yaml";

/** Placeholders of templates: publicly known, so never a secret. */
const PLACEHOLDER =
  /^\s*(<[^>]*>|\{\{.*\}\}|\$\{[^}]*\}|change-?me|replace[-_]?me|your[-_ ].*[-_ ]here)\s*$/i;

/** Whether `value` is a placeholder of a template rather than a secret. */
export function isPlaceholder(value: string): boolean {
  return PLACEHOLDER.test(value);
}

/** Whether a file of a directory is a template with a placeholder left. */
export function isUnfilledTemplate(name: string, documents: readonly ManifestDocument[]): boolean {
  if (basename(name) !== SECRETS_TEMPLATE) return false;
  return documents.some(({ value }) => {
    const data = (value as { spec?: { data?: unknown } } | null)?.spec?.data;
    return typeof data === "object" && data !== null &&
      Object.values(data).some((one) => typeof one === "string" && isPlaceholder(one));
  });
}
