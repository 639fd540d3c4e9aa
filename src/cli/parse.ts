/**
 * Command lines to arguments and help texts; the only importer of the command line library.
 *
 * @module
 */

import { Argument, Command as Parser, CommanderError, Option } from "commander";
import { AppError } from "../base/errors.ts";
import type { Command, ParsedArguments } from "./command.ts";

/** What a command line came to: something to run, or a help text to print. */
export type ParseResult = { readonly parsed: ParsedArguments } | { readonly help: string };

/**
 * Parses what follows the words of a command.
 *
 * @throws {AppError} `usage`, with a suggestion where there is one.
 */
export function parseArguments(
  words: string,
  command: Command,
  args: readonly string[],
): ParseResult {
  let written = "";
  const parser = toParser(words, command);
  parser.configureOutput({ writeOut: (text) => written += text, writeErr: () => {} });
  parser.exitOverride();
  try {
    parser.parse(args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === "commander.helpDisplayed") return { help: written };
    const message = error.message.replace(/^error: /, "").replace(/\s+/g, " ").replace(/\.$/, "");
    throw new AppError(
      "usage",
      `${message.charAt(0).toUpperCase()}${message.slice(1)}: see "svc ${words} --help"`,
    );
  }
  return { parsed: { positional: parser.processedArgs, options: parser.opts() } };
}

function toParser(words: string, command: Command): Parser {
  const parser = new Parser(`svc ${words}`).description(command.help)
    .helpOption("-h, --help", "print this help")
    .allowExcessArguments(false)
    .showSuggestionAfterError(true)
    .configureHelp({ sortOptions: false, helpWidth: 96 })
    .addHelpText("after", `\nExamples:\n${command.examples.map((line) => `  ${line}`).join("\n")}`);
  for (const { name, help } of command.arguments ?? []) {
    parser.addArgument(new Argument(name, help));
  }
  for (const { flags, help, choices, fallback } of command.options ?? []) {
    const option = new Option(flags, help);
    if (choices !== undefined) option.choices(choices);
    if (fallback !== undefined) option.default(fallback);
    parser.addOption(option);
  }
  return parser;
}
