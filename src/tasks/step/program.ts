/**
 * Where a program is, as the shell of a step would find it.
 *
 * @module
 */

import { delimiter, join, resolve } from "node:path";

const ANY_EXECUTE = 0o111;

/** The directory of a shell, and the value of its PATH. */
interface ShellPlace {
  readonly cwd: string;
  readonly path: string;
}

/**
 * The file of `program`: at that path, if it is one (relative to `cwd`), or an executable file in a
 * directory of `path`. `undefined` if there is none.
 */
export async function findProgram(
  program: string,
  { cwd, path }: ShellPlace,
): Promise<string | undefined> {
  if (program.includes("/")) {
    const file = resolve(cwd, program);
    const info = await Deno.stat(file).catch(() => undefined);
    return info?.isFile === true ? file : undefined;
  }
  for (const folder of path.split(delimiter)) {
    const file = join(resolve(cwd, folder), program);
    const info = await Deno.stat(file).catch(() => undefined);
    if (info?.isFile === true && ((info.mode ?? ANY_EXECUTE) & ANY_EXECUTE) !== 0) return file;
  }
  return undefined;
}

/** Whether there is such a {@linkcode findProgram program}. */
export async function hasProgram(program: string, place: ShellPlace): Promise<boolean> {
  return await findProgram(program, place) !== undefined;
}

/** That a program is not where steps look, and what helps, as a sentence without its end. */
export function explainLack(program: string, path: string): string {
  return program.includes("/")
    ? `The program "${program}" does not exist: install it, or change its path`
    : `The program "${program}" is not installed, or not where steps look (PATH is ${path}): ` +
      "install it, write its whole path, or start the daemon with its directory on PATH";
}
