/**
 * Command lines to arguments.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { camelCase } from "../base/camel_case.ts";
import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import { findLike } from "../base/similar_names.ts";
import type { Command, OptionDefinition, ParsedArguments } from "./command.ts";

/** The option that every command has. */
export const HELP: OptionDefinition = { flags: "-h, --help", help: "print this help" };

/** An option as it is typed. */
interface Flag {
  /** Without its dashes: `no-open`. */
  readonly long: string;
  readonly short?: string;
  readonly takes: "nothing" | "one" | "several";
  readonly choices: readonly string[] | undefined;
}

/**
 * Parses what follows the words of a command; `undefined` when its help is asked for.
 *
 * @throws {AppError} `usage`, with a suggestion where there is one.
 */
export function parseArguments(
  words: string,
  command: Command,
  args: readonly string[],
): ParsedArguments | undefined {
  const flags = new Map([HELP, ...command.options ?? []].map((one) => {
    const flag = readFlag(one);
    return [flag.long, flag] as const;
  }));
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries([...flags.values()].map(({ long, short, takes }) => [long, {
      type: takes === "nothing" ? "boolean" as const : "string" as const,
      ...defined({ short }),
    }])),
    strict: false, // its refusals are other ones than ours
    tokens: true,
  });
  if (tokens.some((token) => token.kind === "option" && token.name === "help")) return undefined;

  const options: Record<string, string | string[] | boolean> = fallbacks(command.options ?? []);
  const given: string[] = [];
  let taking: string[] | undefined; // the values of an option that takes several
  for (const token of tokens) {
    if (token.kind === "positional") {
      (taking ?? given).push(token.value);
      continue;
    }
    taking = undefined;
    if (token.kind === "option-terminator") continue;
    const flag = flags.get(token.name);
    if (flag === undefined) throw unknownOption(token.rawName, [...flags.keys()], words);
    const { long, takes } = flag;
    const value = valueOf(flag, token.value, words);
    const key = camelCase(long.replace(/^no-/, ""));
    if (value === undefined) {
      options[key] = !long.startsWith("no-");
    } else if (takes === "one") {
      options[key] = value;
    } else {
      const before = options[key];
      const values = options[key] = [...Array.isArray(before) ? before : [], value];
      if (token.kind === "option" && !token.inlineValue) taking = values;
    }
  }
  return { positional: positionals(words, command, given), options };
}

/** `-o, --output <format>`, its parts. */
function readFlag({ flags, choices }: OptionDefinition): Flag {
  const [, short, long = "", name] = /^(?:-(\w), )?--([\w-]+)(?: <([^>]+)>)?$/.exec(flags) ?? [];
  const takes = name === undefined ? "nothing" : name.endsWith("...") ? "several" : "one";
  return { long, ...defined({ short }), takes, choices };
}

/** What options are that are not given: `--no-open` is a switch that is on. */
function fallbacks(options: readonly OptionDefinition[]): Record<string, string | boolean> {
  const known: Record<string, string | boolean> = {};
  for (const { flags, fallback } of options) {
    const [, no, name = ""] = /--(no-)?([\w-]+)/.exec(flags) ?? [];
    if (no !== undefined) known[camelCase(name)] = true;
    if (fallback !== undefined) known[camelCase(name)] = fallback;
  }
  return known;
}

function valueOf(
  { long, takes, choices }: Flag,
  value: string | undefined,
  words: string,
): string | undefined {
  if (takes === "nothing") {
    if (value === undefined) return undefined;
    throw new AppError("usage", `--${long} takes no value: see "svc help ${words}"`);
  }
  if (value === undefined) {
    throw new AppError("usage", `--${long} needs a value: see "svc help ${words}"`);
  }
  if (choices === undefined || choices.includes(value)) return value;
  throw new AppError("usage", `--${long} takes ${choices.join(", ")}, not "${value}"`);
}

/** The values of the arguments, in the order of their definitions. */
function positionals(
  words: string,
  { arguments: defined = [] }: Command,
  given: readonly string[],
): ParsedArguments["positional"] {
  const names = defined.map(({ name }) => name.toUpperCase().replace(/[<>]/g, ""));
  const usage = ["svc", words, ...names].join(" ");
  const missing = defined.findIndex(({ name }, at) => name.startsWith("<") && at >= given.length);
  if (missing !== -1) {
    const name = names[missing]?.replace("...", "");
    throw new AppError("usage", `${name} is missing: ${usage}`);
  }
  const isRepeated = defined.at(-1)?.name.includes("...") === true;
  if (given.length > defined.length && !isRepeated) {
    throw new AppError("usage", `Too many arguments: ${usage}`);
  }
  return defined.map(({ name }, at) => name.includes("...") ? given.slice(at) : given[at]);
}

function unknownOption(typed: string, known: readonly string[], words: string): AppError {
  const near = findLike(typed.replace(/^--/, ""), known);
  const next = near === undefined ? `: see "svc help ${words}"` : `, did you mean "--${near}"?`;
  return new AppError("usage", `Unknown option "${typed}"${next}`);
}
