/**
 * Makes the paths that users write in manifests absolute.
 *
 * @module
 */

import { join, resolve } from "node:path";

/** Makes a path absolute. */
export type ResolvePath = (path: string) => string;

/** Resolves `~` and `~/…` at `home`, if it is known, and other relative paths at `from`. */
export function pathResolver(
  { from, home }: { readonly from: string; readonly home: string | undefined },
): ResolvePath {
  return (path) =>
    home && (path === "~" || path.startsWith("~/"))
      ? resolve(from, join(home, path.slice(1)))
      : resolve(from, path);
}
