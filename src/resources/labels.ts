/**
 * Selection of resources by their labels.
 *
 * @module
 */

import type { Resource } from "./resource.ts";

/**
 * Parses `k=v,k2=v2`: every label has to have that value; a bare `k` has to exist. Without a
 * selector everything is selected.
 */
export function hasLabels(
  selector: string | undefined,
): (resource: Pick<Resource, "metadata">) => boolean {
  const wanted = (selector ?? "").split(",").filter((part) => part !== "");
  return ({ metadata }) =>
    wanted.every((part) => {
      const [key = "", value] = part.split("=", 2);
      const labels = metadata.labels ?? {};
      return Object.hasOwn(labels, key) && (value === undefined || labels[key] === value);
    });
}
