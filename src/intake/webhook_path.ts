/**
 * The paths at which webhook triggers take requests.
 *
 * @module
 */

import { DEFAULT_PROJECT } from "../resources/resource.ts";

/** The path of a trigger or an endpoint of that name; the default project is left out. */
export function webhookPath(
  { project, name }: { readonly project: string; readonly name: string },
): string {
  return `/webhook/${project === DEFAULT_PROJECT ? "" : `${project}/`}${name}`;
}
