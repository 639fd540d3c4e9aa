/**
 * Reads one word of a shell line: its plain text, or that it depends on variables or commands. The
 * parts that the parser reports are allowed only in forms that every POSIX shell reads alike.
 *
 * @module
 */

import { defined } from "../../base/defined.ts";

/** Reasons why a line cannot be read. */
export type ShellFault =
  | "unparsable"
  | "construct"
  | "assignment"
  | "redirection"
  | "expansion"
  | "glob";

/** A fault of a line. */
export interface Fault {
  readonly fault: ShellFault;
  /** Advice for the user, as a sentence. */
  readonly reason: string;
}

/** A word, or a part of one, from the parser; `S` is the parser's type of a script. */
export interface ParsedText<S> {
  /** Type of the part, in the parser's names. */
  readonly type: string;
  /** Exact text of the line from `pos` to `end`. */
  readonly text: string;
  /** Start, in UTF-16 units from the start of the line. */
  readonly pos: number;
  /** End, exclusive. */
  readonly end: number;
  /** Its parts; absent in a plain word. */
  readonly parts?: readonly ParsedText<S>[] | undefined;
  /** The script of a command substitution. */
  readonly script?: S | undefined;
}

/** A command substitution, with its place and the script in it. */
export interface Substitution<S> {
  readonly script: S;
  /** Start of the script. */
  readonly start: number;
  /** End of the script. */
  readonly end: number;
}

/** Result of reading a word. */
export interface WordReading<S> {
  /** Its text without quotes; `undefined` if it depends on variables or commands. */
  readonly value: string | undefined;
  /** Its command substitutions, in order. */
  readonly substitutions: readonly Substitution<S>[];
  readonly fault?: Fault;
}

/**
 * Reason for text that shells read differently, or that the parser and this code read differently.
 */
export const UNCLEAR = "shells disagree about this: move it into a script";
const WRITTEN_OUT = "write out the name of the command, without $, backquotes, \\ * ? [ ] { } ~";

/** Unquoted text without quote, expansion, operator or any Unicode blank, unless escaped. */
const PLAIN = /^(?:\\[^\n]|[^\\\s"'`$;&|<>()])*$/;
const SINGLE_QUOTED = /^'[^']*'$/;
/** Text between double quotes in which every literal dollar sign is escaped. */
const IN_DOUBLE_QUOTES = /^(?:\\[\s\S]|[^\\"`$])*$/;
const GLOB = /^(?:[*?]|\[[^\s"'`$\\;&|<>()[\]]+\])$/;
/** `$NAME`, `$1`, `$@`, `${NAME}`, `${#NAME}`. */
const VARIABLE =
  /^\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]|\{#?[A-Za-z_][A-Za-z0-9_]*\}|\{[0-9@*#]\})$/;
/** The forms of `${NAME…}` with plain text that do not assign. */
const VARIABLE_WITH_TEXT =
  /^\$\{[A-Za-z_][A-Za-z0-9_]*(?::?[-+?]|##?|%%?)[A-Za-z0-9_ .,:=/@+*?-]*\}$/;
const COMMAND_SUBSTITUTION = /^\$\((?!\()[\s\S]*\)$/;
/** A substitution without characters that have another meaning inside backquotes. */
const BACKQUOTES = /^`[^`\\"'#]*`$/;
/** Redirections between file descriptors of one digit, and from and to `/dev/null`. */
const REDIRECTION = /^[0-9]?(?:(?:>>?|<)[ \t]*\/dev\/null|[<>]&[0-9])$/;

/** Whether a redirection can neither read nor write a file. */
export function isHarmlessRedirection(text: string): boolean {
  return REDIRECTION.test(text);
}

/** Reads a word. The name of a command must be plain text as written. */
export function readWord<S>(word: ParsedText<S>, role: "command" | "argument"): WordReading<S> {
  const { text, pos, end } = word;
  const parts = word.parts ?? [{ type: "Literal", text, pos, end }];
  if (!covers(parts, pos, end)) return unclear();
  const reading = join(parts.map((part) => readPart(part)));
  if (role === "argument" || reading.fault?.fault === "unparsable") return reading;
  const bare = parts.map((part) => part.type === "Literal" ? part.text : "").join("");
  const globs = parts.some((part) => part.type === "Glob") ||
    (/[*?[\]]/.test(bare) && text !== "[");
  if (globs) return stop("glob", WRITTEN_OUT);
  if (reading.value === undefined || /[{}~]/.test(bare)) return stop("expansion", WRITTEN_OUT);
  return text.includes("\\") ? stop("unparsable", WRITTEN_OUT) : reading;
}

function readPart<S>(part: ParsedText<S>): WordReading<S> {
  const { type, text } = part;
  switch (type) {
    case "Literal":
      return PLAIN.test(text) ? plain(text.replace(/\\([\s\S])/g, "$1")) : needsQuotes(text);
    case "SingleQuoted":
      return SINGLE_QUOTED.test(text) ? plain(text.slice(1, -1)) : unclear();
    case "DoubleQuoted": {
      const parts = part.parts ?? [];
      const closed = text.length >= 2 && text.startsWith('"') && text.endsWith('"');
      if (!closed || !covers(parts, part.pos + 1, part.end - 1)) return unclear();
      return join(parts.map((one) => readQuotedPart(one)));
    }
    case "Glob":
      return GLOB.test(text) ? { value: undefined, substitutions: [] } : needsQuotes(text);
    case "CommandExpansion":
      return readSubstitution(part);
    case "SimpleExpansion":
    case "ParameterExpansion":
      return stop("expansion", `put double quotes around ${text}`);
    default:
      return stop("construct", `put single quotes around ${text}, or move it into a script`);
  }
}

function readQuotedPart<S>(part: ParsedText<S>): WordReading<S> {
  const { type, text } = part;
  switch (type) {
    case "Literal": {
      if (!IN_DOUBLE_QUOTES.test(text)) return needsQuotes(text);
      return plain(text.replace(/\\([$`"\\\n])/g, (_all, c: string) => c === "\n" ? "" : c));
    }
    case "CommandExpansion":
      return readSubstitution(part);
    case "SimpleExpansion":
    case "ParameterExpansion":
      if (VARIABLE.test(text) || VARIABLE_WITH_TEXT.test(text)) {
        return { value: undefined, substitutions: [] };
      }
      return stop("expansion", `simplify ${text}, or move it into a script`);
    default:
      return stop("construct", `move ${text} into a script`);
  }
}

function readSubstitution<S>({ text, pos, end, script }: ParsedText<S>): WordReading<S> {
  const known = BACKQUOTES.test(text) || COMMAND_SUBSTITUTION.test(text);
  if (!known || script === undefined) return unclear();
  const start = pos + (text.startsWith("`") ? 1 : 2);
  return { value: undefined, substitutions: [{ script, start, end: end - 1 }] };
}

function join<S>(readings: readonly WordReading<S>[]): WordReading<S> {
  const fault = readings.find((one) => one.fault !== undefined)?.fault;
  const dependent = readings.some(({ value }) => value === undefined);
  return {
    value: dependent ? undefined : readings.map(({ value }) => value).join(""),
    substitutions: readings.flatMap(({ substitutions }) => substitutions),
    ...defined({ fault }),
  };
}

function plain<S>(value: string): WordReading<S> {
  return { value, substitutions: [] };
}

function stop<S>(fault: ShellFault, reason: string): WordReading<S> {
  return { value: undefined, substitutions: [], fault: { fault, reason } };
}

function needsQuotes<S>(text: string): WordReading<S> {
  return stop("unparsable", `put single quotes around ${text}`);
}

function unclear<S>(): WordReading<S> {
  return stop("unparsable", UNCLEAR);
}

/** Whether the parts lie end to end from `pos` to `end`, each as long as its text. */
function covers<S>(parts: readonly ParsedText<S>[], pos: number, end: number): boolean {
  let at = pos;
  for (const part of parts) {
    if (part.pos !== at || part.end !== at + part.text.length) return false;
    at = part.end;
  }
  return at === end;
}
