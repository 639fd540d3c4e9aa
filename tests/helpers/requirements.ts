/**
 * Requirements of a test. Every test file loads on a machine with a base system, make, Node and
 * npm; a test that needs more is skipped there, with the reason in its name.
 *
 * @module
 */

import { statSync } from "node:fs";
import { join } from "node:path";

/** Why a test that gives files to other users is skipped; undefined for root, who may. */
export const NOT_ROOT = Deno.uid() === 0 ? undefined : "only root can give a file away";

/** Why a test of a refused permission is skipped; undefined for any user but root. */
export const IS_ROOT = Deno.uid() === 0 ? "root may do anything" : undefined;

/** Path of the first of these programs that is on the PATH. */
export function findProgram(...programs: readonly string[]): string | undefined {
  const dirs = (Deno.env.get("PATH") ?? "").split(":");
  return programs.flatMap((program) => dirs.map((dir) => join(dir, program))).find(isProgram);
}

/** Why a test that needs these programs is skipped; undefined where all of them are installed. */
export function missing(...programs: readonly string[]): string | undefined {
  const absent = programs.filter((program) => findProgram(program) === undefined);
  return absent.length === 0 ? undefined : `${absent.join(" and ")} not installed`;
}

/** Name and `ignore` of a test: skipped where there is a reason, which its name then tells. */
export function skippable(
  name: string,
  reason: string | undefined,
): Pick<Deno.TestDefinition, "name" | "ignore"> {
  return reason === undefined
    ? { name, ignore: false }
    : { name: `${name} (SKIPPED: ${reason})`, ignore: true };
}

function isProgram(path: string): boolean {
  try {
    const found = statSync(path);
    return found.isFile() && (found.mode & 0o111) !== 0;
  } catch {
    return false; // also a folder of another user, which is on the PATH all the same
  }
}
