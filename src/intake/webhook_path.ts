/**
 * The path of a webhook trigger.
 *
 * @module
 */

import { DEFAULT_PROJECT } from "../resources/resource.ts";

/** The path; the default project is left out. */
export function webhookPath(
  { project, trigger }: { readonly project: string; readonly trigger: string },
): string {
  return `/webhook/${project === DEFAULT_PROJECT ? "" : `${project}/`}${trigger}`;
}
