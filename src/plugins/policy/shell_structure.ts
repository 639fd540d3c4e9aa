/**
 * Checks the text between the words of a shell line, without trusting the parser. It may only
 * consist of blanks, operators, and reserved words that are tokens of their own; and before each
 * word has to be what makes it the kind of word the parser took it for.
 *
 * @module
 */

/** A word or a redirection, and what may stand before it. */
export interface Piece {
  /** Start, in UTF-16 units from the start of the line. */
  readonly pos: number;
  /** End, exclusive. */
  readonly end: number;
  /** Pattern for the text since the piece before, besides being structure. */
  readonly after: RegExp;
}

/** Position of a script in the line, without the parentheses or backquotes around it. */
export interface Span {
  /** Its first character; 0 for the line itself. */
  readonly start: number;
  /** End, exclusive. */
  readonly end: number;
}

/** Between words of one simple command. */
export const BLANKS = /^(?:[ \t]|\\\n)+$/;
/** The same where no blank is needed: before a redirection without a number. */
export const BLANKS_OR_NONE = /^(?:[ \t]|\\\n)*$/;
/** After the name of a function. */
export const PARENTHESES = /^[ \t]*\([ \t]*\)/;
/** Ends the command before. */
export const COMMAND_BREAK = /[;&|()\n]/;
/** Before the variable of a loop. */
export const FOR = /(?:^|[\s;&|(])for[ \t]+$/;
/** Before the first word a loop goes over. */
export const FOR_IN = /^[ \t\n]+in[ \t]+$/;
/** Before the word that is compared. */
export const CASE = /(?:^|[\s;&|(])case[ \t]+$/;
/** Before the first pattern of a branch, and between its patterns. */
export const CASE_PATTERN = /(?:\sin|;;)\s*\(?[ \t]*$|^[ \t]*\|[ \t]*$/;

/**
 * Tokens between words; reserved words have a delimiter on both sides, and a comment ends with its
 * line. `x` stands for the words around, `<` for a redirection, a blank for the ends of the script.
 */
const STRUCTURE =
  /^[ x](?:[ \t\n;&|()]|\\\n|(?<![^\s;&|()])(?:if|then|elif|else|fi|for|in|do|done|while|until|case|esac|[{}!])(?![^\s;&|()<])|(?<![^\s;&|()])#[^\n]*(?=\n| $))*[ x<]$/;

/**
 * Whether only structure stands between the pieces of a script, and each piece follows what it
 * needs. The start of a script counts as a semicolon. A script inside another has no comments.
 */
export function isStructured(source: string, span: Span, pieces: readonly Piece[]): boolean {
  let at = span.start;
  let left = " ";
  for (const { pos, end, after } of pieces) {
    const gap = source.slice(at, pos);
    const right = "<>".includes(source.charAt(pos)) ? "<" : "x";
    if (pos < at || !isStructure(left + gap + right, span)) return false;
    if (!after.test(left === " " ? `;${gap}` : gap)) return false;
    // The parser skips a parenthesis after a word; that of a function belongs to its name.
    if (/^[ \t]*\(/.test(source.slice(end, span.end))) return false;
    at = end;
    left = "x";
  }
  return at <= span.end && isStructure(`${left}${source.slice(at, span.end)} `, span);
}

function isStructure(text: string, span: Span): boolean {
  return STRUCTURE.test(text) && (span.start === 0 || !text.includes("#"));
}

/**
 * Whether a word may continue on the next line: only a blank before the backslash ends the word for
 * sure.
 */
export function continuesInWord(text: string): boolean {
  return /(?<![ \t])\\\n/.test(text);
}
