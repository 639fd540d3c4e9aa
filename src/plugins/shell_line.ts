/**
 * A shell line as the simple commands in it (security 3, rule 2). The only importer of the shell
 * parser, which reads Bash and mends what it does not understand, while the line runs under any
 * POSIX shell: so only nodes that are named here get through, and `shell_text.ts` looks at their
 * text once more. Judges no command.
 *
 * @module
 */

import {
  type Command,
  type CommandExpansionPart,
  type CommandNode,
  type CompoundList,
  type DoubleQuotedChild,
  parse,
  type ParsedScript,
  type Redirection,
  type Statement,
  type Word,
  type WordPart,
} from "unbash";
import {
  BLANKS,
  BLANKS_OR_NONE,
  COMMAND_BREAK,
  continuesInWord,
  hasForm,
  isStructured,
  type Piece,
  unescaped,
  unescapedQuoted,
} from "./shell_text.ts";

/** What stands against taking a line apart. */
export type ShellFault =
  | "unparsable"
  | "construct"
  | "assignment"
  | "redirection"
  | "expansion"
  | "glob";

/** One simple command; those of substitutions, loops and functions are commands too. */
export interface ShellCommand {
  /** Where its first word begins, in UTF-16 units from the start of the line. */
  readonly at: number;
  /** Its first word, quotes removed. */
  readonly word: string;
  /** Its other words, quotes removed; `undefined` where one is not plain text. */
  readonly args: readonly (string | undefined)[];
}

/** What a line came to: its commands in order, or the first thing that stands against it. */
export type ShellLine =
  | { readonly commands: readonly ShellCommand[] }
  | { readonly fault: ShellFault; readonly reason: string };

/**
 * Variables that a loop or `read` may set: no upper case, so none that the shell, the loader or an
 * interpreter looks at (`PATH`, `IFS`, `LD_PRELOAD`).
 */
export const SETTABLE_NAME = /^[a-z_][a-z0-9_]*$/;

/** Takes a line apart. Never throws. */
export function readShellLine(line: string): ShellLine {
  if (continuesInWord(line)) {
    return { fault: "unparsable", reason: "put a blank before a backslash that ends a line" };
  }
  const reader = new Reader(line);
  try {
    reader.script(parse(line), { start: 0, end: line.length });
  } catch {
    reader.fail("unparsable", UNCLEAR); // what the parser throws on is no line we understand
  }
  return reader.fault ?? { commands: reader.commands };
}

const UNCLEAR = "this is not clear in every shell: move it into a script";

class Reader {
  readonly commands: ShellCommand[] = [];
  fault: { readonly fault: ShellFault; readonly reason: string } | undefined;
  readonly #source: string;

  constructor(source: string) {
    this.#source = source;
  }

  /** Keeps the first. */
  fail(fault: ShellFault, reason: string): undefined {
    this.fault ??= { fault, reason };
  }

  script(script: ParsedScript, span: { readonly start: number; readonly end: number }): void {
    if ((script.errors ?? []).length > 0) {
      return this.fail("unparsable", `not a complete shell line: ${script.errors?.[0]?.message}`);
    }
    // A script with a text of its own came out of backquotes with backslashes.
    if (script.source !== undefined) return this.fail("unparsable", UNCLEAR);
    const pieces: Piece[] = [];
    for (const statement of script.commands) this.#statement(statement, pieces);
    if (!isStructured(this.#source, span, pieces)) this.fail("unparsable", UNCLEAR);
  }

  #statement({ command }: Statement, pieces: Piece[]): void {
    const parts = command.type === "AndOr" ? command.commands : [command];
    for (const part of parts) {
      if (part.type !== "Pipeline") {
        this.#node(part, pieces);
        continue;
      }
      if (part.operators.some((operator) => operator !== "|")) this.#unknown("|&");
      if (part.prefixes.some((prefix) => prefix.type !== "Negation")) this.#unknown("time");
      for (const one of part.commands) this.#node(one, pieces);
    }
  }

  #unknown(what: string): undefined {
    return this.fail("construct", `${what} is not for a plugin's command: move it into a script`);
  }

  #list(list: CompoundList, pieces: Piece[]): void {
    for (const statement of list.commands) this.#statement(statement, pieces);
  }

  #node(node: CommandNode, pieces: Piece[]): void {
    switch (node.type) {
      case "Command":
        return this.#command(node, pieces);
      case "Redirected":
        this.#node(node.command, pieces);
        return this.#redirections(node.redirects, COMMAND_BREAK, pieces);
      case "Subshell":
      case "BraceGroup":
        return this.#list(node.body, pieces);
      case "If":
        for (const branch of [node, ...node.elif]) {
          this.#list(branch.clause, pieces);
          this.#list(branch.then, pieces);
        }
        if (node.else !== undefined) this.#list(node.else, pieces);
        return;
      case "While":
        this.#list(node.clause, pieces);
        return this.#list(node.body, pieces);
      case "For":
        this.#variable(node.name, pieces);
        for (const [i, word] of (node.wordlist ?? []).entries()) {
          this.#word(word, i === 0 ? /^[ \t\n]+in[ \t]+$/ : BLANKS, pieces);
        }
        return this.#list(node.body, pieces);
      case "Case":
        this.#word(node.word, /(?:^|[\s;&|(])case[ \t]+$/, pieces);
        for (const item of node.items) {
          for (const [i, word] of item.pattern.entries()) {
            this.#word(word, i === 0 ? /(?:\sin|;;)\s*\(?[ \t]*$/ : /^[ \t]*\|[ \t]*$/, pieces);
          }
          this.#list(item.body, pieces);
          if ((item.terminator ?? ";;") !== ";;") this.#unknown(";&");
        }
        return;
      case "Function":
        // `function f` is a command of that name elsewhere; a name with a slash could hide a file.
        if (!SETTABLE_NAME.test(node.name.text) || node.body.type === "CompoundList") {
          return this.#unknown("such a function");
        }
        pieces.push({ pos: node.name.pos, end: node.name.end, after: COMMAND_BREAK });
        return this.#node(node.body, pieces);
      default:
        return this.#unknown(`"${node.type}"`);
    }
  }

  #variable(name: Word, pieces: Piece[]): void {
    pieces.push({ pos: name.pos, end: name.end, after: /(?:^|[\s;&|(])for[ \t]+$/ });
    if (!SETTABLE_NAME.test(name.text)) {
      this.fail("assignment", `name the variable of the loop in lower case, not "${name.text}"`);
    }
  }

  #command(node: Command, pieces: Piece[]): void {
    if (node.prefix.some((prefix) => prefix.type === "Assignment")) {
      return this.fail(
        "assignment",
        "a command may not start with an assignment: set it in a script",
      );
    }
    if (node.name === undefined || node.prefix.length > 0) {
      return this.fail("redirection", "a redirection stands behind its command");
    }
    const word = this.#word(node.name, COMMAND_BREAK, pieces, true);
    const args: (string | undefined)[] = [];
    this.commands.push({ at: node.name.pos, word: word ?? "", args });
    for (const part of node.suffix) {
      if (part.type === "Word") args.push(this.#word(part, BLANKS, pieces));
      else if (part.type === "Assignment") this.#unknown("an assignment");
      else this.#redirections([part], BLANKS_OR_NONE, pieces);
    }
    if (word === undefined) this.fail("expansion", NO_EXPANSION);
  }

  #redirections(redirections: readonly Redirection[], after: RegExp, pieces: Piece[]): void {
    for (const { pos, end } of redirections) {
      const numbered = /[0-9]/.test(this.#source.charAt(pos));
      pieces.push({ pos, end, after: numbered && after === BLANKS_OR_NONE ? BLANKS : after });
      if (hasForm("Redirect", this.#source.slice(pos, end))) continue;
      this.fail(
        "redirection",
        "redirect only between descriptors (2>&1) and to or from /dev/null: move it into a script",
      );
    }
  }

  /** The word as plain text, quotes removed; `undefined` where it depends on anything. */
  #word(word: Word, after: RegExp, pieces: Piece[], isCommand = false): string | undefined {
    const { pos, end, text } = word;
    pieces.push({ pos, end, after });
    if (text !== this.#source.slice(pos, end)) return this.fail("unparsable", UNCLEAR);
    const parts: readonly WordPart[] = word.parts ??
      [{ type: "Literal", pos, end, text, value: text }];
    if (!covers(parts, pos, end)) return this.fail("unparsable", UNCLEAR);
    const texts = parts.map((part) => this.#part(part, isCommand));
    if (isCommand) this.#commandWord(text, parts);
    return texts.includes(undefined) ? undefined : texts.join("");
  }

  /** A command is written out: what runs has to be plain from the text alone. */
  #commandWord(text: string, parts: readonly WordPart[]): void {
    const bare = parts.map((part) => part.type === "Literal" ? part.text : "").join("");
    if (/[*?[\]]/.test(bare) && text !== "[") {
      this.fail("glob", `write out the name of the command, without * ? [ ]: "${text}"`);
    } else if (/[{}~]/.test(bare)) {
      this.fail("expansion", `write out the name of the command, without { } ~: "${text}"`);
    } else if (text.includes("\\")) {
      this.fail("unparsable", `quote the name of the command instead of using \\: "${text}"`);
    }
  }

  #part(part: WordPart, isCommand: boolean): string | undefined {
    switch (part.type) {
      case "Literal":
        return this.#checked("Literal", part.text) ? unescaped(part.text) : undefined;
      case "SingleQuoted":
        return this.#checked("SingleQuoted", part.text) ? part.text.slice(1, -1) : undefined;
      case "DoubleQuoted":
        return this.#doubleQuoted(part, isCommand);
      case "Glob":
        if (isCommand) {
          return this.fail("glob", "write out the name of the command, without * ? [ ]");
        }
        this.#checked("Glob", part.text);
        return undefined;
      case "CommandExpansion":
        return this.#substitution(part, isCommand);
      case "SimpleExpansion":
      case "ParameterExpansion":
        if (isCommand) return this.fail("expansion", NO_EXPANSION);
        return this.fail("expansion", `put ${part.text} between double quotes`);
      default:
        return this.#unknown(`"${part.text}"`);
    }
  }

  #doubleQuoted(
    { text, pos, end, parts }: {
      text: string;
      pos: number;
      end: number;
      parts: readonly DoubleQuotedChild[];
    },
    isCommand: boolean,
  ): string | undefined {
    const closed = text.length >= 2 && text.startsWith('"') && text.endsWith('"');
    if (!closed || !covers(parts, pos + 1, end - 1)) return this.fail("unparsable", UNCLEAR);
    const texts = parts.map((part) => {
      if (part.type === "Literal") {
        return this.#checked("QuotedLiteral", part.text) ? unescapedQuoted(part.text) : undefined;
      }
      if (part.type === "CommandExpansion") return this.#substitution(part, isCommand);
      if (isCommand) return this.fail("expansion", NO_EXPANSION);
      if (part.type === "ArithmeticExpansion") return this.#unknown(`"${part.text}"`);
      if (hasForm(part.type, part.text)) return undefined;
      return this.fail("expansion", `simplify ${part.text}, or move it into a script`);
    });
    return texts.includes(undefined) ? undefined : texts.join("");
  }

  #substitution(part: CommandExpansionPart, isCommand: boolean): undefined {
    if (isCommand) this.fail("expansion", NO_EXPANSION);
    const backquoted = part.text.startsWith("`");
    const known = hasForm(backquoted ? "Backquotes" : "CommandSubstitution", part.text);
    if (!known || part.script === undefined) return this.fail("unparsable", UNCLEAR);
    this.script(part.script, { start: part.pos + (backquoted ? 1 : 2), end: part.end - 1 });
  }

  #checked(form: "Literal" | "SingleQuoted" | "QuotedLiteral" | "Glob", text: string): boolean {
    const known = hasForm(form, text);
    if (!known) this.fail("unparsable", `quote this with single quotes: ${text}`);
    return known;
  }
}

const NO_EXPANSION = "write out the name of the command, without $ and backquotes";

/** Whether the parts lie end to end from `pos` to `end`, each as long as its text. */
function covers(
  parts: readonly { readonly pos: number; readonly end: number; readonly text: string }[],
  pos: number,
  end: number,
): boolean {
  let at = pos;
  for (const part of parts) {
    if (part.pos !== at || part.end !== at + part.text.length) return false;
    at = part.end;
  }
  return at === end;
}
