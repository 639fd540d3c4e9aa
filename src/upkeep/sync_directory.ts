/**
 * Puts the names in a directory on disk, as `fsync` of a file does its content: after a power
 * failure a file that was renamed is there under its new name.
 *
 * @module
 */

/** Does nothing where the system does not let directories be opened. */
export async function syncDirectory(path: string): Promise<void> {
  try {
    using directory = await Deno.open(path);
    await directory.sync();
  } catch {
    // the content is on disk, and no system without this loses names for long
  }
}
