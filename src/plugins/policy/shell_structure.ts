/**
 * Checks the text between the words of a shell line without trusting the parser. The text may only
 * consist of blanks, operators, and reserved words that are tokens of their own. Before each word
 * has to stand what makes it the kind of word for which the parser took it.
 *
 * @module
 */

/** A word or a redirection, and the text that has to stand before it. */
export interface Piece {
  /** Start, in UTF-16 units from the start of the line. */
  readonly pos: number;
  /** End, exclusive. */
  readonly end: number;
  /** Pattern of the text between the piece before and this one. */
  readonly after: RegExp;
}

/** Position of a script in the line, without the parentheses or backquotes around it. */
export interface Span {
  /** Its first character; 0 for the line itself. */
  readonly start: number;
  /** End, exclusive. */
  readonly end: number;
}

/** Text between the words of a simple command. */
export const BLANKS = /^(?:[ \t]|\\\n)+$/;
/** Text before a redirection without a number, which needs no blank. */
export const BLANKS_OR_NONE = /^(?:[ \t]|\\\n)*$/;
/** Text after the name of a function. */
export const PARENTHESES = /^[ \t]*\([ \t]*\)/;
/** Text that ends the command before. */
export const COMMAND_BREAK = /[;&|()\n]/;
/** Text before the variable of a loop. */
export const FOR = /(?:^|[\s;&|(])for[ \t]+$/;
/** Text before the first word of the list of a loop. */
export const FOR_IN = /^[ \t\n]+in[ \t]+$/;
/** Text before the word that `case` compares. */
export const CASE = /(?:^|[\s;&|(])case[ \t]+$/;
/** Text before the first pattern of a branch, and between its patterns. */
export const CASE_PATTERN = /(?:\sin|;;)\s*\(?[ \t]*$|^[ \t]*\|[ \t]*$/;

/**
 * Tokens between two words. A reserved word has a delimiter on both sides, and a comment ends with
 * its line. In the tested text, `x` stands for the words around it, `<` for a redirection, and a
 * blank for an end of the script.
 */
const STRUCTURE =
  /^[ x](?:[ \t\n;&|()]|\\\n|(?<![^\s;&|()])(?:if|then|elif|else|fi|for|in|do|done|while|until|case|esac|[{}!])(?![^\s;&|()<])|(?<![^\s;&|()])#[^\n]*(?=\n| $))*[ x<]$/;

/**
 * Whether only such tokens stand between the pieces of a script, and each piece follows the text
 * that it needs. The start of the script counts as a semicolon. A script inside another has no
 * comments.
 */
export function isStructured(source: string, span: Span, pieces: readonly Piece[]): boolean {
  let at = span.start;
  let left = " ";
  for (const { pos, end, after } of pieces) {
    const gap = source.slice(at, pos);
    const right = "<>".includes(source.charAt(pos)) ? "<" : "x";
    if (pos < at || !isStructure(left + gap + right, span)) return false;
    if (!after.test(left === " " ? `;${gap}` : gap)) return false;
    // The parser skips a parenthesis after a word. After the name of a function it is in the piece.
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
 * Whether a line break after a backslash may be inside a word: only a blank before the backslash
 * surely ends the word.
 */
export function continuesInWord(text: string): boolean {
  return /(?<![ \t])\\\n/.test(text);
}
