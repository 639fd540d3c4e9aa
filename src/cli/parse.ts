/**
 * Parses command lines to arguments and options.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { camelCase } from "../base/camel_case.ts";
import { defined } from "../base/defined.ts";
import { AppError } from "../base/errors.ts";
import { findLike } from "../base/similar_names.ts";
import { type Command, type ParsedArguments, usageOf } from "./command.ts";
import type { OptionDefinition } from "./option.ts";

/** The option that every command has. */
export const HELP: OptionDefinition = { flags: "-h, --help", help: "print this help" };

/** The flags of an option. */
interface Flag {
  /** The long flag without its dashes, such as `no-open`. */
  readonly long: string;
  readonly short?: string;
  readonly takes: "nothing" | "one" | "several";
  readonly definition: OptionDefinition;
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
  const flags = new Map([HELP, ...command.options ?? []].map((definition) => {
    const flag = readFlag(definition);
    return [flag.long, flag] as const;
  }));
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries([...flags.values()].map(({ long, short, takes }) => [long, {
      type: takes === "nothing" ? "boolean" as const : "string" as const,
      ...defined({ short }),
    }])),
    strict: false, // in strict mode `parseArgs` would refuse with its own messages
    tokens: true,
  });
  if (tokens.some((token) => token.kind === "option" && token.name === "help")) return undefined;
  flags.delete("help");

  const given = new Map<Flag, string[]>();
  const rest: Rest = { before: [], after: [] };
  let isAfter = false; // `--`
  let taking: string[] | undefined; // the values of an option that takes several
  for (const token of tokens) {
    if (token.kind === "positional") {
      (taking ?? (isAfter ? rest.after : rest.before)).push(token.value);
      continue;
    }
    taking = undefined;
    if (token.kind === "option-terminator") {
      isAfter = true;
      continue;
    }
    const flag = flags.get(token.name);
    if (flag === undefined) throw unknownOption(token.rawName, ["help", ...flags.keys()], words);
    const texts = given.get(flag) ?? [];
    given.set(flag, texts);
    texts.push(...valueOf(flag, token.value, words));
    if (flag.takes === "several" && !token.inlineValue) taking = texts;
  }
  const positional = positionals(words, command, rest);
  const options = [...flags.values()].map((flag) =>
    [camelCase(flag.long.replace(/^no-/, "")), optionValue(flag, given.get(flag))] as const
  );
  return { positional, options: Object.fromEntries(options) };
}

/** `-o, --output <format>`, its parts. */
function readFlag(definition: OptionDefinition): Flag {
  const [, short, long = "", name] =
    /^(?:-(\w), )?--([\w-]+)(?: <([^>]+)>)?$/.exec(definition.flags) ?? [];
  const takes = name === undefined ? "nothing" : name.endsWith("...") ? "several" : "one";
  return { long, ...defined({ short }), takes, definition };
}

/** The text that was given to an option; `undefined` for a switch. */
function valueOf(
  { long, takes, definition: { choices } }: Flag,
  value: string | undefined,
  words: string,
): readonly string[] {
  if (takes === "nothing") {
    if (value === undefined) return [];
    throw new AppError("usage", `--${long} takes no value: see "svc help ${words}"`);
  }
  if (value === undefined) {
    throw new AppError("usage", `--${long} needs a value: see "svc help ${words}"`);
  }
  if (choices === undefined || choices.includes(value)) return [value];
  throw new AppError("usage", `--${long} takes ${choices.join(", ")}, not "${value}"`);
}

/** The value of an option for its command; `texts` is `undefined` if the option was not given. */
function optionValue(
  { long, takes, definition: { fallback, value } }: Flag,
  texts: readonly string[] | undefined,
): unknown {
  if (takes === "nothing") return (texts !== undefined) !== long.startsWith("no-");
  if (takes === "several") return texts ?? [];
  const text = texts?.at(-1) ?? fallback;
  if (text === undefined || value === undefined) return text;
  const read = value.parse(text);
  if (read !== undefined) return read;
  throw new AppError("usage", `--${long} takes ${value.takes}, not "${text}"`);
}

/** Positional arguments, before and after the first `--`. */
interface Rest {
  readonly before: string[];
  readonly after: string[];
}

/** The values of the arguments, in the order of their definitions. */
function positionals(
  words: string,
  { arguments: defined = [] }: Command,
  { before, after }: Rest,
): ParsedArguments["positional"] {
  const last = defined.at(-1);
  const names = defined.map((one) => usageOf(one).replace(/[<>]/g, "").toUpperCase());
  const usage = ["svc", words, ...names].join(" ");
  const most = last?.separate === true ? defined.length - 1 : defined.length;
  const given = last?.separate === true
    ? [...Array.from({ length: most }, (_, at) => before[at]), ...after]
    : [...before, ...after];
  const missing = defined.find(({ name }, at) => name.startsWith("<") && given[at] === undefined);
  if (missing !== undefined) {
    const name = missing.name.toUpperCase().replace(/[<>.]/g, "");
    throw new AppError("usage", `${name} is missing: ${usage}`);
  }
  const isRepeated = last?.name.includes("...") === true;
  if (last?.separate === true ? before.length > most : given.length > most && !isRepeated) {
    throw new AppError("usage", `Too many arguments: ${usage}`);
  }
  return defined.map(({ name }, at) =>
    name.includes("...") ? given.slice(at).filter((one) => one !== undefined) : given[at]
  );
}

function unknownOption(typed: string, known: readonly string[], words: string): AppError {
  const near = findLike(typed.replace(/^--/, ""), known);
  const next = near === undefined ? `: see "svc help ${words}"` : `, did you mean "--${near}"?`;
  return new AppError("usage", `Unknown option "${typed}"${next}`);
}
