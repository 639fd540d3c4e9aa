/**
 * What is done to the machine, as a list that can be shown before it is carried out.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { shellWord } from "../base/shell_word.ts";
import type { ProgramLine } from "../shell/ask_program.ts";
import type { ServiceHost } from "./host.ts";

/** The path and text of a file that all may read. */
export interface WrittenFile {
  readonly write: string;
  readonly text: string;
}

/** The path of a file to remove, and whether its directory goes with it if that is empty then. */
export interface RemovedFile {
  readonly remove: string;
  readonly withDirectory?: true;
}

/** One thing to do: run a program, write a file, or remove one. */
export type Step = { readonly run: ProgramLine } | WrittenFile | RemovedFile;

/** Written beside and renamed: who reads it meanwhile never finds half of it. */
const WRITE =
  'umask 022; mkdir -p "${1%/*}" && cat >"$1.new" && chmod 0644 "$1.new" && mv -f "$1.new" "$1"';

const REMOVE_ALL = 'rm -f -- "$1" && { rmdir -- "${1%/*}" 2>/dev/null || true; }';

/** The command line of a step, as a person would type it; a file's text comes on standard input. */
export function commandLine(step: Step): string {
  if ("run" in step) return step.run.map(plainWord).join(" ");
  if ("remove" in step) return `rm -f ${plainWord(step.remove)}`;
  return `cat >${plainWord(step.write)}`;
}

/** The line of a shell that carries steps out, in order. */
export function commandLines(steps: readonly Step[]): string {
  return steps.map(commandLine).join(" && ");
}

/** A word of a shell, in quotes only where it needs them. */
export function plainWord(text: string): string {
  return /^[\w/.,:=@%+-]+$/.test(text) ? text : shellWord(text);
}

/**
 * Carries steps out, in order.
 *
 * @throws {AppError} `refused` when one of them fails; those after it are left out.
 */
export async function carryOut(steps: readonly Step[], host: ServiceHost): Promise<void> {
  for (const step of steps) {
    const { code, err } = await carryOutOne(step, host);
    if (code === 0) continue;
    const said = err.split("\n").map((line) => line.trim()).filter((line) => line !== "");
    const why = said.join("; ") || `exit code ${code}`;
    throw new AppError("refused", `"${commandLine(step)}" failed: ${why}`);
  }
}

// Files, too, by programs of the machine: svc itself may write nothing below /etc.
function carryOutOne(step: Step, host: ServiceHost) {
  if ("run" in step) return host.run(step.run);
  if ("remove" in step) {
    const path = host.root + step.remove;
    return host.run(
      step.withDirectory ? ["/bin/sh", "-c", REMOVE_ALL, "sh", path] : ["rm", "-f", "--", path],
    );
  }
  return host.run(["/bin/sh", "-c", WRITE, "sh", host.root + step.write], step.text);
}
