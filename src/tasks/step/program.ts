/**
 * Whether a program is installed, as the shell of a step would find it.
 *
 * @module
 */

import { delimiter, join, resolve } from "node:path";

const ANY_EXECUTE = 0o111;

/**
 * Whether `program` is a file, if it is a path (relative to `cwd`), or an executable file in a directory
 * of `path` (the value of PATH).
 */
export async function hasProgram(
  program: string,
  { cwd, path }: { readonly cwd: string; readonly path: string },
): Promise<boolean> {
  if (program.includes("/")) {
    const info = await Deno.stat(resolve(cwd, program)).catch(() => undefined);
    return info?.isFile === true;
  }
  for (const folder of path.split(delimiter)) {
    const info = await Deno.stat(join(resolve(cwd, folder), program)).catch(() => undefined);
    if (info?.isFile === true && ((info.mode ?? ANY_EXECUTE) & ANY_EXECUTE) !== 0) return true;
  }
  return false;
}
