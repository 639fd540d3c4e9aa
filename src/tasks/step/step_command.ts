/**
 * The command of a step: its line for `/bin/sh`, or the program that its `shell` names, which replaces
 * `/bin/sh`.
 *
 * @module
 */

import { utf8 } from "../../base/bytes.ts";
import { AppError } from "../../base/errors.ts";
import type { PlannedStep } from "../plan.ts";
import { hasProgram } from "./program.ts";

/** The parts of a shell command that say what runs. */
export interface StepCommand {
  readonly line: string;
  /** `$1`, `$2`, … of the line. */
  readonly args?: readonly string[];
}

/** The shell replaces itself by the program in its arguments. */
const EXEC = 'exec "$@"';

/** Bash reads no startup files of its user, and ends at a failure, also within a pipe. */
const BASH = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"];

/**
 * The command of a step in the directory `cwd`; `toFile` makes a file of the task and returns its
 * path.
 *
 * @throws {AppError} `invalid` when the program of its `shell` is not on `path`.
 */
export async function commandOf(
  { agent, run = "", shell = "sh" }: Pick<PlannedStep, "agent" | "run" | "shell">,
  { cwd, path, toFile }: {
    readonly cwd: string;
    readonly path: string;
    readonly toFile: (text: Uint8Array) => Promise<string>;
  },
): Promise<StepCommand> {
  if (agent !== undefined) return { line: agent.command };
  if (shell === "sh") return { line: run };
  const [program = "", ...options] = shell === "bash" ? BASH : shell;
  await checkInstalled(program, { cwd, path });
  // Bash takes the text itself, and then the name of the script for its messages.
  const script = shell === "bash" ? [run, "bash"] : [await toFile(utf8(run))];
  return { line: EXEC, args: [program, ...options, ...script] };
}

async function checkInstalled(
  program: string,
  { cwd, path }: { readonly cwd: string; readonly path: string },
): Promise<void> {
  if (await hasProgram(program, { cwd, path })) return;
  const where = program.includes("/")
    ? "the file does not exist"
    : `it is in no directory of PATH (${path})`;
  throw new AppError(
    "invalid",
    `The shell "${program}" of this step is not installed: ${where}. Install it, or change "shell"`,
  );
}
