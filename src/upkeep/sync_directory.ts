/**
 * Syncs the names in a directory to disk, as `fsync` of a file does with its content: after a power
 * failure a renamed file has its new name.
 *
 * @module
 */

/**
 * Syncs the directory at `path`; does nothing where the system does not let directories be opened.
 */
export async function syncDirectory(path: string): Promise<void> {
  try {
    using directory = await Deno.open(path);
    await directory.sync();
  } catch {
    // the content is on disk, and systems without this sync names soon by themselves
  }
}
