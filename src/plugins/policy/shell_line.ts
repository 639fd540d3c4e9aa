/**
 * Splits a shell line into its simple commands, and judges none. The only importer of the shell
 * parser. The parser reads Bash and repairs what it does not understand, but the line runs in any
 * POSIX shell. So only nodes named here are allowed, and `shell_word.ts` and `shell_structure.ts`
 * check the text again.
 *
 * @module
 */

import {
  type Command,
  type CommandNode,
  type CompoundList,
  type Function as FunctionNode,
  parse,
  type ParsedScript,
  type Redirection,
  type Statement,
  type Word,
} from "unbash";
import {
  BLANKS,
  BLANKS_OR_NONE,
  CASE,
  CASE_PATTERN,
  COMMAND_BREAK,
  continuesInWord,
  FOR,
  FOR_IN,
  isStructured,
  PARENTHESES,
  type Piece,
  type Span,
} from "./shell_structure.ts";
import {
  type Fault,
  isHarmlessRedirection,
  readWord,
  type ShellFault,
  UNCLEAR,
} from "./shell_word.ts";

/** A simple command, also one in a substitution, a loop or a function. */
export interface ShellCommand {
  /** Start of its first word, in UTF-16 units from the start of the line. */
  readonly at: number;
  /** Its first word, quotes removed. */
  readonly word: string;
  /** Its other words, quotes removed; `undefined` for one that is not plain text. */
  readonly args: readonly (string | undefined)[];
}

/** Result of reading a line: its commands in order, or the first fault. */
export type ShellLine = { readonly commands: readonly ShellCommand[] } | Fault;

/**
 * Names that a loop, `read` or a function may define. Without upper case, so that none is a
 * variable of the shell, the loader or an interpreter (`PATH`, `IFS`, `LD_PRELOAD`), and without a
 * slash.
 */
export const OWN_NAME = /^[a-z_][a-z0-9_]*$/;

/** Reads a line. Never throws. */
export function readShellLine(line: string): ShellLine {
  if (continuesInWord(line)) {
    return { fault: "unparsable", reason: "put a blank before a backslash that ends a line" };
  }
  const reader = new Reader(line);
  try {
    reader.script(parse(line), { start: 0, end: line.length });
  } catch {
    return { fault: "unparsable", reason: UNCLEAR }; // the line exceeds limits of the parser
  }
  return reader.fault ?? { commands: reader.commands };
}

class Reader {
  readonly commands: ShellCommand[] = [];
  fault: Fault | undefined;
  readonly #source: string;

  constructor(source: string) {
    this.#source = source;
  }

  script(script: ParsedScript, span: Span): void {
    const error = script.errors?.[0];
    if (error !== undefined) return this.#fail("unparsable", `not a shell line: ${error.message}`);
    // The parser gives a script its own text if it had to remove backslashes from backquotes.
    if (script.source !== undefined) return this.#fail("unparsable", UNCLEAR);
    const pieces: Piece[] = [];
    for (const statement of script.commands) this.#statement(statement, pieces);
    if (!isStructured(this.#source, span, pieces)) this.#fail("unparsable", UNCLEAR);
  }

  /** Keeps the first fault. */
  #fail(fault: ShellFault, reason: string): void {
    this.fault ??= { fault, reason };
  }

  #refuse(what: string): void {
    this.#fail("construct", `${what} is more than a command may do: move it into a script`);
  }

  #statement({ command }: Statement, pieces: Piece[]): void {
    for (const part of command.type === "AndOr" ? command.commands : [command]) {
      if (part.type !== "Pipeline") {
        this.#node(part, pieces);
        continue;
      }
      if (part.operators.some((operator) => operator !== "|")) this.#refuse("|&");
      if (part.prefixes.some((prefix) => prefix.type !== "Negation")) this.#refuse("time");
      for (const one of part.commands) this.#node(one, pieces);
    }
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
        for (const { clause, then } of [node, ...node.elif]) {
          this.#list(clause, pieces);
          this.#list(then, pieces);
        }
        if (node.else !== undefined) this.#list(node.else, pieces);
        return;
      case "While":
        this.#list(node.clause, pieces);
        return this.#list(node.body, pieces);
      case "For":
        this.#name(node.name, FOR, pieces);
        for (const [i, word] of (node.wordlist ?? []).entries()) {
          this.#word(word, i === 0 ? FOR_IN : BLANKS, pieces);
        }
        return this.#list(node.body, pieces);
      case "Case":
        this.#word(node.word, CASE, pieces);
        for (const { pattern, body, terminator } of node.items) {
          for (const word of pattern) this.#word(word, CASE_PATTERN, pieces);
          this.#list(body, pieces);
          if (terminator !== undefined && terminator !== ";;") this.#refuse(terminator);
        }
        return;
      case "Function":
        return this.#function(node, pieces);
      default:
        return this.#refuse(`"${node.type}"`);
    }
  }

  #function({ name, body }: FunctionNode, pieces: Piece[]): void {
    const parentheses = PARENTHESES.exec(this.#source.slice(name.end))?.[0];
    if (parentheses === undefined || body.type === "CompoundList") {
      // Other shells than Bash read `function f` as a command called `function`.
      return this.#fail("unparsable", UNCLEAR);
    }
    // The name ends before the closing parenthesis, which separates it from the body.
    this.#name(name, COMMAND_BREAK, pieces, parentheses.length - 1);
    this.#node(body, pieces);
  }

  #name({ pos, end, text }: Word, after: RegExp, pieces: Piece[], more = 0): void {
    pieces.push({ pos, end: end + more, after });
    if (OWN_NAME.test(text)) return;
    this.#fail("assignment", `"${text}": name variables and functions in lower case`);
  }

  #command({ name, prefix, suffix }: Command, pieces: Piece[]): void {
    if (prefix.some((one) => one.type === "Assignment")) {
      return this.#fail("assignment", "remove the assignment: set variables in a script");
    }
    if (name === undefined || prefix.length > 0) {
      return this.#fail("redirection", "put a redirection after its command");
    }
    const word = this.#word(name, COMMAND_BREAK, pieces, "command") ?? "";
    const args: (string | undefined)[] = [];
    this.commands.push({ at: name.pos, word, args });
    for (const part of suffix) {
      if (part.type === "Word") args.push(this.#word(part, BLANKS, pieces));
      else if (part.type === "Assignment") this.#refuse("an assignment");
      else this.#redirections([part], BLANKS_OR_NONE, pieces);
    }
  }

  #redirections(redirections: readonly Redirection[], first: RegExp, pieces: Piece[]): void {
    for (const [i, { pos, end }] of redirections.entries()) {
      const after = i === 0 ? first : BLANKS_OR_NONE;
      const numbered = /[0-9]/.test(this.#source.charAt(pos));
      pieces.push({ pos, end, after: numbered && after === BLANKS_OR_NONE ? BLANKS : after });
      if (isHarmlessRedirection(this.#source.slice(pos, end))) continue;
      this.#fail("redirection", "redirect only like 2>&1 and >/dev/null, or move it into a script");
    }
  }

  /**
   * The word as plain text, quotes removed; `undefined` where it depends on variables or commands.
   */
  #word(
    word: Word,
    after: RegExp,
    pieces: Piece[],
    role: "command" | "argument" = "argument",
  ): string | undefined {
    pieces.push({ pos: word.pos, end: word.end, after });
    if (word.text !== this.#source.slice(word.pos, word.end)) this.#fail("unparsable", UNCLEAR);
    const { value, substitutions, fault } = readWord<ParsedScript>(word, role);
    if (fault !== undefined) this.#fail(fault.fault, fault.reason);
    for (const { script, start, end } of substitutions) this.script(script, { start, end });
    return value;
  }
}
