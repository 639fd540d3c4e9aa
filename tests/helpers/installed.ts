/**
 * What the machine has. A fresh one has a base system, make, Node and npm, and every test file loads
 * there: a test that needs another program asks here first, and is skipped with the reason in its name.
 *
 * @module
 */

import { statSync } from "node:fs";
import { join } from "node:path";

/** Whether the program is on the PATH. */
export function isInstalled(program: string): boolean {
  return (Deno.env.get("PATH") ?? "").split(":").some((dir) => isProgram(join(dir, program)));
}

/** Why a test that needs these programs cannot run here; undefined where it can. */
export function missing(...programs: readonly string[]): string | undefined {
  const absent = programs.filter((program) => !isInstalled(program));
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
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isFile() === true && (found.mode & 0o111) !== 0;
}
