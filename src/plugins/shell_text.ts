/**
 * The text of a shell line, piece by piece: what every POSIX shell and the parser surely read alike.
 * A second look that does not trust the parser: each word has to consist of pieces this file knows,
 * and between words may stand only blanks, operators and reserved words that are tokens of their own.
 *
 * @module
 */

/** A word or a redirection, and what may stand before it. */
export interface Piece {
  /** Where it begins, in UTF-16 units from the start of the line. */
  readonly pos: number;
  /** Where it ends. */
  readonly end: number;
  /** What the text since the piece before it has to match, beside being structure. */
  readonly after: RegExp;
}

/** Blanks within one simple command. */
export const BLANKS = /^(?:[ \t]|\\\n)+$/;
/** The same where none are needed: before a redirection without a number. */
export const BLANKS_OR_NONE = /^(?:[ \t]|\\\n)*$/;
/** Something that ends the command before; the start of a script counts as a semicolon. */
export const COMMAND_BREAK = /[;&|()\n]/;

/** Unquoted text: no quote, no expansion, no operator, and no blank of any script unless escaped. */
const PLAIN = /^(?:\\[^\n]|[^\\\s"'`$;&|<>()])*$/;
const SINGLE_QUOTED = /^'[^']*'$/;
/** Text between double quotes; every dollar sign that is meant as one is escaped. */
const IN_DOUBLE_QUOTES = /^(?:\\[\s\S]|[^\\"`$])*$/;
/** `$NAME`, `$1`, `$@`. */
const SIMPLE_EXPANSION = /^\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-])$/;
/** `${NAME}`, `${#NAME}`, and the forms that neither assign nor nest, over plain text. */
const PARAMETER_EXPANSION =
  /^\$\{(?:#?[A-Za-z_][A-Za-z0-9_]*|[0-9@*#]|[A-Za-z_][A-Za-z0-9_]*(?::?[-+?]|##?|%%?)[A-Za-z0-9_ .,:=/@+*?-]*)\}$/;
/** Nothing that changes its meaning inside backquotes; one level of them. */
const BACKQUOTED = /^`[^`\\"'#]*`$/;
const COMMAND_SUBSTITUTION = /^\$\((?!\()[\s\S]*\)$/;
const BRACKET_GLOB = /^(?:[*?]|\[[^\s"'`$\\;&|<>()[\]]+\])$/;
/** Between file descriptors of one digit, and from and to `/dev/null`. */
const REDIRECTION = /^[0-9]?(?:(?:>>?|<)[ \t]*\/dev\/null|[<>]&[0-9])$/;

const FORMS = {
  Literal: PLAIN,
  SingleQuoted: SINGLE_QUOTED,
  QuotedLiteral: IN_DOUBLE_QUOTES,
  SimpleExpansion: SIMPLE_EXPANSION,
  ParameterExpansion: PARAMETER_EXPANSION,
  Glob: BRACKET_GLOB,
  Redirect: REDIRECTION,
  Backquotes: BACKQUOTED,
  CommandSubstitution: COMMAND_SUBSTITUTION,
} as const;

/** Whether `text` has the one form in which such a piece is let through. */
export function hasForm(form: keyof typeof FORMS, text: string): boolean {
  return FORMS[form].test(text);
}

/** Unquoted text without its backslashes. */
export function unescaped(text: string): string {
  return text.replace(/\\([\s\S])/g, "$1");
}

/** Text between double quotes without the backslashes that mean something there. */
export function unescapedQuoted(text: string): string {
  return text.replace(/\\([$`"\\\n])/g, (_all, c: string) => c === "\n" ? "" : c);
}

/** A line that goes on behind a backslash is clear only where a blank ends the word before it. */
export function continuesInWord(text: string): boolean {
  return /(?<![ \t])\\\n/.test(text);
}

/**
 * Tokens between words: blanks, operators, and reserved words with a delimiter on both sides. `x`
 * stands for the words around, `<` for a redirection, a blank for the ends of the script.
 */
const STRUCTURE =
  /^[ x](?:[ \t\n]|\\\n|;;?|&&?|\|\|?|[()]|(?<![^\s;&|()])(?:if|then|elif|else|fi|for|in|do|done|while|until|case|esac|[{}!])(?![^\s;&|()<])|(?<![^\s;&|()])#[^\n]*(?=\n| $))*[ x<]$/;

/**
 * Whether nothing but structure stands between the pieces of a script from `start` to `end`, each
 * piece behind what it needs. A script inside another has no comments.
 */
export function isStructured(
  source: string,
  { start, end }: { readonly start: number; readonly end: number },
  pieces: readonly Piece[],
): boolean {
  const nested = start > 0;
  let at = start;
  for (const [index, piece] of pieces.entries()) {
    if (piece.pos < at) return false;
    const gap = source.slice(at, piece.pos);
    const left = index === 0 ? " " : "x";
    const right = /[<>]/.test(source.charAt(piece.pos)) ? "<" : "x";
    if (!STRUCTURE.test(left + gap + right) || (nested && gap.includes("#"))) return false;
    if (!piece.after.test(index === 0 ? `;${gap}` : gap)) return false;
    at = piece.end;
  }
  const gap = source.slice(at, end);
  if (nested && gap.includes("#")) return false;
  return STRUCTURE.test(`${pieces.length === 0 ? " " : "x"}${gap} `);
}
