/**
 * What a command works with, from what a command line would give it.
 *
 * @module
 */

import { type Command, CommandContext } from "../../src/cli/command.ts";
import type { Io } from "../../src/cli/io.ts";
import { parseArguments } from "../../src/cli/parse.ts";

/** Arguments, and options by their names in camelCase; a switch is `true`. */
export interface CommandLine {
  readonly positional?: readonly (string | readonly string[])[];
  readonly options?: Readonly<Record<string, unknown>>;
}

/** The context of a command with this command line. */
export function contextOf(
  command: Command,
  io: Io,
  { positional = [], options = {} }: CommandLine,
): CommandContext {
  const flags = Object.entries(options).flatMap(([name, value]) => {
    const flag = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    return [value].flat().map((one) => one === true ? flag : `${flag}=${one}`);
  });
  const parsed = parseArguments("", command, [...flags, "--", ...positional.flat()]);
  if (parsed === undefined) throw new Error("The command line asks for help");
  return new CommandContext(io, parsed.options, parsed.positional);
}
