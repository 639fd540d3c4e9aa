/**
 * Runs one command line from words to exit code. The only place of the program that catches an
 * error in order to print it.
 *
 * @module
 */

import { AppError, toAppError } from "../base/errors.ts";
import { CommandContext } from "./command.ts";
import { type CommandEntry, COMMANDS, LISTED } from "./commands.ts";
import { type Io, OutputClosed } from "./io.ts";
import { red } from "./terminal_text.ts";

/** Runs `svc` with these arguments; gives the exit code. */
export async function runCli(given: readonly string[], io: Io): Promise<number> {
  try {
    const [first] = given;
    const asked = first === "--version" || first === "-V" ? ["version"] : given;
    const args = withLeadingOptionsLast(asked);
    const entry = findEntry(args);
    if (entry === undefined) return listCommands(args, io);
    const { command } = await entry.load();
    const { parseArguments } = await import("./parse.ts");
    const rest = args.slice(entry.words.split(" ").length);
    const result = parseArguments(entry.words, command, rest);
    if ("help" in result) {
      io.out(result.help);
      return 0;
    }
    return await command.run(new CommandContext(io, result.parsed)) ?? 0;
  } catch (error) {
    if (error instanceof OutputClosed) return 0;
    return report(toAppError(error), io);
  }
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

function findEntry(args: readonly string[]): CommandEntry | undefined {
  return COMMANDS.find(({ words }) => words.split(" ").every((word, i) => args[i] === word));
}

const HELP_FLAGS = new Set(["-h", "--help"]);

/** `svc`, `svc help`, `svc task`: the commands there are. Anything else is a mistake. */
function listCommands(args: readonly string[], io: Io): number {
  const option = args.findIndex((arg) => arg.startsWith("-"));
  const asked = args.slice(0, option === -1 ? undefined : option).filter((arg) => arg !== "help");
  const group = asked.join(" ");
  const listed = LISTED.filter(({ words }) => group === "" || `${words} `.startsWith(`${group} `));
  if (listed.length === 0) {
    throw new AppError("usage", `Unknown command "${group}"${suggestion(asked)}: see "svc --help"`);
  }
  const unknown = args.find((arg) => arg.startsWith("-") && !HELP_FLAGS.has(arg));
  if (unknown !== undefined) {
    throw new AppError("usage", `Unknown option "${unknown}" before a command: see "svc --help"`);
  }
  const needsMore = group !== "" && args.length === asked.length;
  (needsMore ? io.err : io.out)(commandList(listed, group));
  return needsMore ? new AppError("usage", "").exitCode : 0;
}

function commandList(entries: readonly CommandEntry[], asked: string): string {
  const width = Math.max(...entries.map(({ words }) => words.length)) + 2;
  const lines = entries.map(({ words, summary }) => `  ${words.padEnd(width)}${summary}`);
  const intro = asked === ""
    ? "svc turns signed webhooks into agent workflows.\n\nUsage: svc COMMAND [ARGUMENTS]\n\n"
    : `Usage: svc ${asked} COMMAND [ARGUMENTS]\n\n`;
  const start = asked === ""
    ? "\nStart here:\n  svc init && svc daemon\n  svc integration list\n"
    : "";
  return `${intro}Commands:\n${lines.join("\n")}\n\nMore about one: svc COMMAND --help\n${start}`;
}

/** The command that shares its first word, or the beginning of one, with what was typed. */
function suggestion([first = "", second = ""]: readonly string[]): string {
  const near = LISTED.filter(({ words }) => words.startsWith(first.slice(0, 3)));
  const best = near.find(({ words }) => words.split(" ")[1]?.startsWith(second.slice(0, 3))) ??
    near[0];
  return best === undefined ? "" : `, did you mean "svc ${best.words}"?`;
}

function report(error: AppError, io: Io): number {
  io.err(io.errColor ? red("error:") : "error:");
  io.err(` ${error.message}\n`);
  for (const detail of error.details) io.err(`  ${detail}\n`);
  if (error.code === "internal" && error.cause !== undefined) {
    const { cause } = error;
    io.err(`  ${cause instanceof Error ? cause.stack ?? cause.message : String(cause)}\n`);
  }
  return error.exitCode;
}
