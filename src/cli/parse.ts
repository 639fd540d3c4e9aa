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
  columns: number | undefined,
): ParseResult {
  let written = "";
  const parser = toParser(words, command, columns);
  parser.configureOutput({ writeOut: (text) => written += text, writeErr: () => {} });
  parser.exitOverride();
  try {
    parser.parse(args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.code === "commander.helpDisplayed") return { help: written };
    throw new AppError("usage", explain(error, words, command));
  }
  return { parsed: { positional: parser.processedArgs, options: parser.opts() } };
}

/** What the help of a command says. */
export interface HelpParts {
  /** Such as `svc task logs [options] <task>`. */
  readonly usage: string;
  readonly description: string;
  /** Its positional arguments, each with its line of help. */
  readonly arguments: readonly HelpLine[];
  /** Its options, each with its line of help, choices and default included. */
  readonly options: readonly HelpLine[];
  readonly examples: readonly string[];
}

/** What is explained, such as `-o, --output <format>`, and how. */
export type HelpLine = readonly [term: string, text: string];

/** The help of a command in its parts, for those who set it otherwise than a terminal does. */
export function helpParts(words: string, command: Command): HelpParts {
  const parser = toParser(words, command);
  const help = parser.createHelp();
  return {
    usage: help.commandUsage(parser),
    description: command.help,
    arguments: help.visibleArguments(parser)
      .map((one) => [help.argumentTerm(one), help.argumentDescription(one)]),
    options: help.visibleOptions(parser)
      .map((one) => [help.optionTerm(one), help.optionDescription(one)]),
    examples: command.examples,
  };
}

/** The library's refusal in our words, with what would have been right. */
function explain(error: CommanderError, words: string, command: Command): string {
  const { code } = error;
  const text = error.message.replace(/^error: /, "").replace(/\s+/g, " ");
  const known = (command.arguments ?? []).map(({ name }) => name.toUpperCase());
  const usage = ["svc", words, ...known.map((name) => name.replace(/[<>]/g, ""))].join(" ");
  const [, named = "", value = ""] = /'([^']*)'(?: argument '(.*)' is invalid)?/.exec(text) ?? [];
  const flag = /--[\w-]+/.exec(named)?.[0] ?? named;
  const [, near] = /Did you mean (\S+)\?/.exec(text) ?? [];
  const [, choices = ""] = /Allowed choices are (.*)\.$/.exec(text) ?? [];
  const help = `"svc help ${words}"`;
  if (code === "commander.missingArgument") return `${named.toUpperCase()} is missing: ${usage}`;
  if (code === "commander.excessArguments") return `Too many arguments: ${usage}`;
  if (code === "commander.optionMissingArgument") return `${flag} needs a value: see ${help}`;
  if (code === "commander.invalidArgument") return `${flag} takes ${choices}, not "${value}"`;
  if (code !== "commander.unknownOption") return `${text}: see ${help}`;
  return `Unknown option "${named}"${
    near === undefined ? `: see ${help}` : `, did you mean "${near}"?`
  }`;
}

/** Wider lines are hard to read. */
const WIDEST = 100;

function toParser(words: string, command: Command, columns = 80): Parser {
  const parser = new Parser(`svc ${words}`).description(command.help)
    .helpOption("-h, --help", "print this help")
    .allowExcessArguments(false)
    .showSuggestionAfterError(true)
    .configureHelp({ sortOptions: false, helpWidth: Math.min(columns, WIDEST), minWidthToWrap: 20 })
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
