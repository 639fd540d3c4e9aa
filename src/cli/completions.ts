/**
 * `svc completions`.
 *
 * @module
 */

import { AppError } from "../base/errors.ts";
import { type Command, type CommandContext } from "./command.ts";
import { COMMANDS } from "./commands.ts";

/** Prints a completion script. */
export const command: Command = {
  help: "Prints a script that completes commands and options. Needs no daemon.",
  arguments: [{ name: "<shell>", help: "bash, zsh or fish" }],
  examples: ["svc completions bash > ~/.local/share/bash-completion/completions/svc"],
  run(context: CommandContext) {
    throw new AppError("usage", `${context.argument(0)} ${COMMANDS.length}`);
  },
};
