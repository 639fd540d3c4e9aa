/**
 * The field `shell` of workflows and steps: the program that reads the text of `run`.
 *
 * @module
 */

import Type from "typebox";
import { type MachineNeed, needsProgram } from "./machine_needs.ts";
import { errorAt, type FieldPath, type Finding } from "./resource.ts";

/** Schema of `shell`: `sh`, `bash`, or a program with its options. */
export const Shell = Type.Union([
  Type.Enum(["sh", "bash"]),
  Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }),
], {
  title: "sh, bash, or a list: a program and its options, such as [python3, -u], " +
    "which gets the text of `run` as a file",
});

/** `shell` as written by the user. */
export type Shell = Type.Static<typeof Shell>;

/** The checks of `shell` at path `at` that a schema cannot express. */
export function checkShell(shell: Shell | undefined, at: FieldPath): Finding[] {
  if (shell === undefined || typeof shell === "string") return [];
  const [program = ""] = shell;
  if (shell.some((part) => part.includes("\0"))) {
    return [errorAt(at, "A program and its options cannot hold a NUL character")];
  }
  if (program.startsWith("-")) {
    return [errorAt(at, `The list starts with the program, found the option "${program}"`)];
  }
  if (program.trim() === program && !/\s/.test(program)) return [];
  const parts = program.trim().split(/\s+/).join(", ");
  return [errorAt(at, `Program and options are entries of their own: write [${parts}]`)];
}

/** The program that a `shell` needs; `sh` is everywhere. */
export function shellProgram(
  shell: Shell | undefined,
  at: FieldPath,
  envs: readonly (object | undefined)[],
): MachineNeed[] {
  if (shell === undefined || shell === "sh") return [];
  const [name = ""] = typeof shell === "string" ? [shell] : shell;
  return needsProgram(name, at, envs);
}
