/**
 * The names in a directory that may not exist.
 *
 * @module
 */

/** The names of the entries of a directory; none if it does not exist. */
export async function* namesIn(directory: string): AsyncGenerator<string> {
  try {
    for await (const { name } of Deno.readDir(directory)) yield name;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
