/**
 * Limits of a manifest, checked before the YAML library parses it: its time grows faster than the
 * text for deep nesting and for errors that it collects one by one.
 *
 * @module
 */

import { Lexer } from "yaml";

/** Longest text, in characters; the largest real manifests have some hundred thousand. */
const MAX_CHARACTERS = 4 * 1024 * 1024;

/** Most tokens of the lexer; about a hundred thousand lines. */
const MAX_LEXEMES = 1_000_000;

/** Deepest nesting of brackets and braces. */
const MAX_BRACKETS = 200;

/** Most anchors, aliases and tags of one text; together they are an attack on memory. */
const MAX_MARKS = 1000;

/** Tokens of the lexer that are not in the text: byte order mark, document, scalar. */
const MARKERS = new Set(["\u0002", "\u0018", "\u001f"]);

/**
 * Finds the offset at which `text` exceeds a limit, and which; `undefined` when it exceeds none.
 */
export function findExcess(text: string): { offset: number; message: string } | undefined {
  if (text.length > MAX_CHARACTERS) {
    return { offset: 0, message: `Longer than ${MAX_CHARACTERS} characters, split the file` };
  }
  let [offset, lexemes, brackets, marks, isScalar] = [0, 0, 0, 0, false];
  for (const lexeme of new Lexer().lex(text)) {
    if (!isScalar) {
      if (lexeme === "[" || lexeme === "{") brackets++;
      else if (lexeme === "]" || lexeme === "}") brackets--;
      else if (/^[!&*]/.test(lexeme)) marks++;
    }
    if (Math.abs(brackets) > MAX_BRACKETS) {
      return { offset, message: "Brackets are nested too deeply, or do not come in pairs" };
    }
    if (marks > MAX_MARKS) {
      return { offset, message: `More than ${MAX_MARKS} anchors, aliases and tags` };
    }
    if (++lexemes > MAX_LEXEMES) return { offset, message: "Too long, split the file" };
    isScalar = lexeme === "\u001f";
    if (!MARKERS.has(lexeme)) offset += lexeme.length;
  }
  return undefined;
}
