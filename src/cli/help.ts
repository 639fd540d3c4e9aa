/**
 * The help of a command.
 *
 * @module
 */

import { type Command, usageOf } from "./command.ts";
import { HELP } from "./parse.ts";

/** The parts of the help of a command. */
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

/** A term such as `-o, --output <format>`, and its explanation. */
export type HelpLine = readonly [term: string, text: string];

/** The help of a command in its parts, for output in other formats, such as the manual pages. */
export function helpParts(words: string, command: Command): HelpParts {
  const named = command.arguments ?? [];
  return {
    usage: ["svc", words, "[options]", ...named.map(usageOf)].join(" "),
    description: command.help,
    arguments: named.map(({ name, help }) => [name.replace(/[<>[\].]/g, ""), help]),
    options: [...command.options ?? [], HELP].map(({ flags, help, choices, fallback }) => {
      const facts = [
        ...choices === undefined ? [] : [`choices: ${choices.map((one) => `"${one}"`).join(", ")}`],
        ...fallback === undefined ? [] : [`default: "${fallback}"`],
      ];
      return [flags, facts.length === 0 ? help : `${help} (${facts.join(", ")})`];
    }),
    examples: command.examples,
  };
}

/** Most columns of a line: wider lines are hard to read. */
const WIDEST = 100;
/** A narrower column of text is not wrapped, but left to the terminal. */
const NARROWEST = 20;
const INDENT = "  ";

/** The help of a command as a terminal of this width gets it. */
export function helpText(words: string, command: Command, columns = 80): string {
  const { usage, description, arguments: named, options, examples } = helpParts(words, command);
  const width = Math.min(columns, WIDEST);
  const widest = Math.max(...[...named, ...options].map(([term]) => term.length));
  const list = (heading: string, lines: readonly HelpLine[]) =>
    lines.length === 0
      ? []
      : ["", `${heading}:`, ...lines.map((line) => item(line, widest, width))];
  return [
    `Usage: ${usage}`,
    "",
    wrap(description, width),
    ...list("Arguments", named),
    ...list("Options", options),
    "",
    "Examples:",
    ...examples.map((line) => INDENT + line),
    "",
  ].join("\n");
}

/** A term and its text beside it, in a column of its own. */
function item([term, text]: HelpLine, widest: number, width: number): string {
  const before = `${INDENT}${term.padEnd(widest)}  `;
  return before +
    wrap(text, width - before.length).replaceAll("\n", `\n${" ".repeat(before.length)}`);
}

/** A text in lines of this width; spaces within a line stay as they are. */
function wrap(text: string, width: number): string {
  return width < NARROWEST
    ? text
    : text.split("\n").map((line) => wrapLine(line, width)).join("\n");
}

function wrapLine(line: string, width: number): string {
  const lines = [""];
  for (const [word] of line.matchAll(/\s*\S+/g)) {
    const last = lines.length - 1;
    const longer = `${lines[last]}${word}`;
    if (longer.length <= width || lines[last] === "") lines[last] = longer;
    else lines.push(word.trimStart());
  }
  return lines.join("\n");
}
