/**
 * Finds what tasks and plugins have left on the machine: processes with their mark, and files.
 *
 * @module
 */

import { join } from "node:path";

/** Processes of tasks and plugins of this data directory, by a variable in their environment. */
export async function findMarkedProcesses(dataDir: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const text = await readOr(`/proc/${name}/environ`);
    const variables = text.split("\0");
    if (!variables.includes(`SVC_DATA_DIR=${dataDir}`)) continue;
    const mark = variables.find((one) => /^SVC_(TASK|RUN)_ID=/.test(one));
    if (mark === undefined) continue;
    const line = (await readOr(`/proc/${name}/cmdline`)).replaceAll("\0", " ").trim();
    if (line !== "") found.push(`${mark} ${line}`); // empty: ended, and not waited for
  }
  return found;
}

/** Names of the files of a directory; none if there is no directory. */
export async function namesIn(...path: readonly string[]): Promise<string[]> {
  try {
    return (await Array.fromAsync(Deno.readDir(join(...path)))).map(({ name }) => name).toSorted();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** Reads a file of a process, which may end meanwhile. */
async function readOr(path: string): Promise<string> {
  return await Deno.readTextFile(path).catch(() => "");
}
