/**
 * `apply` with `prune`: finds the applied resources that are no longer in the input. Pure.
 *
 * @module
 */

import { AppError } from "../../base/errors.ts";
import type { Catalog } from "../../resources/catalog.ts";
import { hasLabels } from "../../resources/labels.ts";
import type { ManifestResource } from "../../resources/read.ts";
import { displayName, keyOf, type Resource } from "../../resources/resource.ts";

/**
 * The kinds that can be written again from their manifests. SecretStores cannot, and neither can
 * what belongs to no project and may be shared.
 */
const PRUNED = ["Trigger", "Workflow", "Agent", "StepTemplate", "Workspace", "Sandbox"];

/**
 * The resources with these labels that are not in the input, in the projects of the input.
 *
 * @throws {AppError} `usage` without a label; `invalid` when a resource of the input lacks the
 * labels: the next prune would not find it.
 */
export function findPruned(
  stated: readonly ManifestResource[],
  selector: string,
  catalog: Catalog,
): Resource[] {
  if (!/[^,\s]/.test(selector)) {
    throw new AppError(
      "usage",
      "Give the labels of what may be " +
        "pruned",
    );
  }
  const isSelected = hasLabels(selector);
  const strangers = stated.filter((one) => PRUNED.includes(one.kind) && !isSelected(one));
  if (strangers.length > 0) {
    throw new AppError(
      "invalid",
      `Nothing was applied: with --prune all that is applied needs the labels ${selector}`,
      { details: strangers.map((one) => `${displayName(one)} does not have them`) },
    );
  }
  const projects = new Set(stated.map(({ project }) => project));
  const keys = new Set(stated.map(keyOf));
  return PRUNED.flatMap((kind) => catalog.list(kind)).filter((one) =>
    projects.has(one.project) && isSelected(one) && !keys.has(keyOf(one))
  );
}
