/**
 * Faults of the path of a workspace.
 *
 * @module
 */

import { messageOf } from "../../base/errors.ts";
import { findShortage } from "../../base/shortage.ts";

/** Whether there is a directory at `path`, links resolved. */
export async function isDirectory(path: string): Promise<boolean> {
  const info = await Deno.stat(path).catch(() => undefined);
  return info?.isDirectory === true;
}

/** The fault of the path of a workspace, and its remedy; `undefined` for a directory. */
export async function directoryFault(path: string): Promise<string | undefined> {
  try {
    if ((await Deno.stat(path)).isDirectory) return undefined;
  } catch (error) {
    if (findShortage(error) !== undefined) throw error;
    const why = error instanceof Deno.errors.NotFound
      ? "does not exist: make it, or change the path of the Workspace"
      : `cannot be used: ${messageOf(error)}`;
    return `"${path}" ${why}`;
  }
  return `"${path}" is not a directory: change the path of the Workspace`;
}
