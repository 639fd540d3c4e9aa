/**
 * Runs one command line from words to exit code. No other file of the program catches an error in
 * order to print it.
 *
 * @module
 */

import { AppError, inOwnWords, messageOf, toAppError } from "../base/errors.ts";
import { capitalized } from "../base/sentence.ts";
import { type Command, CommandContext, type Program } from "./command.ts";
import { fullList, groupList, unknownCommand } from "./command_list.ts";
import { entryOf, inFull } from "./command_words.ts";
import { COMMANDS, LISTED } from "./commands/commands.ts";
import { type Io, OutputClosed } from "./io.ts";
import { parseArguments } from "./parse.ts";
import type { ListedName } from "./suggest.ts";
import { red } from "./terminal_text.ts";

/** The program, as commands see it. */
export const PROGRAM: Program = { commands: COMMANDS, run: runCli, isServed };

/** Runs `svc` with these arguments; returns the exit code. */
export async function runCli(given: readonly string[], io: Io): Promise<number> {
  try {
    const args = normalise(given);
    const entry = entryOf(args, COMMANDS);
    if (entry === undefined) return await listCommands(args, io);
    const { command } = await entry.load();
    return await runCommand(entry.words, command, args.slice(entry.words.split(" ").length), io);
  } catch (error) {
    if (error instanceof OutputClosed) return 0;
    return report(toRefusal(error), io);
  }
}

/**
 * Runs a command with what follows its words, or prints its help; gives the exit code.
 *
 * @throws {AppError} as the command refuses.
 */
export async function runCommand(
  words: string,
  command: Command,
  args: readonly string[],
  io: Io,
): Promise<number> {
  const parsed = parseArguments(words, command, args);
  if (parsed !== undefined) {
    const context = new CommandContext(io, parsed.options, parsed.positional);
    return await command.run(context, PROGRAM) ?? 0;
  }
  const { helpText } = await import("./help.ts");
  io.out(helpText(words, command, io.columns));
  return 0;
}

function isServed(given: readonly string[]): boolean {
  return entryOf(normalise(given), COMMANDS)?.served ?? false;
}

/** The words of the command first, every command by its full name. */
function normalise(given: readonly string[]): readonly string[] {
  const [first] = given[0] === "daemon" ? given.slice(1) : given; // `svcd` runs `svc daemon`
  const asked = first === "--version" || first === "-V" ? ["version"] : given;
  return asHelpFlag(inFull(withLeadingOptionsLast(asked)));
}

/** Options that may stand before the command, as in `svc --server URL get task`. */
const LEADING = new Set(["--server", "--ca-file", "--data-dir", "-p", "--project"]);

function withLeadingOptionsLast(args: readonly string[]): readonly string[] {
  let at = 0;
  while (LEADING.has(args[at]?.split("=", 1)[0] ?? "")) {
    at += args[at]?.includes("=") === true ? 1 : 2;
  }
  return [...args.slice(at), ...args.slice(0, at)];
}

/** `svc help get` is `svc get --help`. */
function asHelpFlag(args: readonly string[]): readonly string[] {
  if (args[0] !== "help") return args;
  return [...args.slice(1).filter((arg) => !arg.startsWith("-")), "--help"];
}

const HELP_FLAGS = new Set(["-h", "--help"]);

/** `svc`, `svc help`, `svc task`: the commands there are. Anything else is a mistake. */
async function listCommands(args: readonly string[], io: Io): Promise<number> {
  const option = args.findIndex((arg) => arg.startsWith("-"));
  const asked = args.slice(0, option === -1 ? undefined : option);
  const group = asked.join(" ");
  const listed = LISTED.filter(({ words }) => group === "" || words.startsWith(`${group} `));
  if (listed.length === 0) throw unknownCommand(asked, LISTED, await listedNames());
  const unknown = args.find((arg) => arg.startsWith("-") && !HELP_FLAGS.has(arg));
  if (unknown !== undefined) {
    throw new AppError("usage", `Unknown option "${unknown}" before a command: see "svc --help"`);
  }
  const needsMore = group !== "" && args.length === asked.length;
  (needsMore ? io.err : io.out)(group === "" ? fullList(listed) : groupList(listed, group));
  return needsMore ? new AppError("usage", "").exitCode : 0;
}

/** The names that `svc get` lists, loaded only to find a suggestion for an unknown command. */
async function listedNames(): Promise<readonly ListedName[]> {
  const { LISTED_NAMES } = await import("./listed_names.ts");
  return LISTED_NAMES;
}

/**
 * Converts an error to a refusal; a missing permission of the operating system is no bug of svc.
 */
function toRefusal(error: unknown): AppError {
  if (!(error instanceof Deno.errors.NotCapable)) return toAppError(error);
  const said = messageOf(error);
  return new AppError("refused", capitalized(said), { cause: error });
}

function report(error: AppError, io: Io): number {
  io.err(io.errColor ? red("error:") : "error:");
  io.err(` ${error.message}\n`);
  for (const detail of error.details) io.err(`  ${detail.replaceAll("\n", "\n  ")}\n`);
  if (error.code === "internal" && error.cause !== undefined) {
    const { cause } = error;
    const text = cause instanceof Error ? cause.stack ?? cause.message : String(cause);
    io.err(`  ${inOwnWords(text)}\n`);
  }
  return error.exitCode;
}
