/**
 * Paths as users write them in manifests, made absolute.
 *
 * @module
 */

import { join, resolve } from "node:path";

/** Makes a path absolute. */
export type ResolvePath = (path: string) => string;

/**
 * Resolves `~` and `~/…` at the home directory, where there is one, and other relative paths at the
 * directory `from`.
 */
export function pathResolver(
  { from, home }: { readonly from: string; readonly home: string | undefined },
): ResolvePath {
  return (path) =>
    home && (path === "~" || path.startsWith("~/"))
      ? resolve(from, join(home, path.slice(1)))
      : resolve(from, path);
}
