/**
 * Which of some paths lead to something.
 *
 * @module
 */

/** The paths at which there is something; a link counts where its target is there. */
export function existingPaths(paths: readonly string[]): string[] {
  return paths.filter((path) => {
    try {
      Deno.statSync(path);
      return true;
    } catch {
      return false;
    }
  });
}
