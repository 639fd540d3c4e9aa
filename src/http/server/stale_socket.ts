/**
 * Removes a Unix socket that a program left behind when it was killed: nothing could listen there again.
 *
 * @module
 */

/** Removes the socket at `path` if nothing listens there any more; leaves anything else as it is. */
export async function removeStaleSocket(path: string): Promise<void> {
  const found = await Deno.lstat(path).catch(() => undefined);
  if (found?.isSocket !== true) return;
  try {
    (await Deno.connect({ transport: "unix", path })).close();
  } catch (error) {
    if (error instanceof Deno.errors.ConnectionRefused) await Deno.remove(path).catch(() => {});
  }
}
