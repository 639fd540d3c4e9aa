/**
 * Selection of resources by their labels.
 *
 * @module
 */

import type { Resource } from "./resource.ts";

/**
 * Parses a selector such as `k=v,k2`: label `k` has the value `v`, and label `k2` exists. Without a
 * selector every resource is selected.
 */
export function hasLabels(
  selector: string | undefined,
): (resource: Pick<Resource, "metadata">) => boolean {
  const parts = (selector ?? "").split(",").filter((part) => part !== "");
  return ({ metadata }) =>
    parts.every((part) => {
      const [key = "", value] = part.split("=", 2);
      const labels = metadata.labels ?? {};
      return Object.hasOwn(labels, key) && (value === undefined || labels[key] === value);
    });
}
