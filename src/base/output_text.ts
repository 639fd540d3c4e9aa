/**
 * The output of a task as terminals and pages show it: its text and its colours. Other sequences that
 * drive a terminal (titles, cursor, clipboard, links) and hidden characters are removed.
 *
 * ```ts
 * import { cleanOutput } from "./output_text.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * equal(cleanOutput("\x1b[31mred\x1b]0;title\x07\x1b[2J"), "\x1b[31mred");
 * ```
 *
 * @module
 */

import { replaceControls } from "./control_characters.ts";

/** The first character of every sequence for a terminal. */
export const ESCAPE = String.fromCharCode(0x1b);
/** The last character of some sequences. */
export const BELL = String.fromCharCode(0x07);

/** A colour or a style (SGR). */
const STYLE = new RegExp(`${ESCAPE}\\[[0-9;]*m`, "g");

/** A complete command for the terminal (title, link, clipboard), with either end. */
const COMMAND = new RegExp(
  `${ESCAPE}[\\]P^_X][^${BELL}${ESCAPE}]*(?:${BELL}|${ESCAPE}\\\\)`,
  "g",
);

/** Any other sequence, and the beginning of a command that has no end. */
const SEQUENCE = new RegExp(`${ESCAPE}(?:\\[[0-?]*[ -/]*[@-~]|[ -/]*[0-~])`, "g");

/** The text and the colours of some output. A carriage return becomes a line break, so it hides no text. */
export function cleanOutput(text: string): string {
  const parts: string[] = [];
  const shown = text.replace(/\r\n?/g, "\n").replace(COMMAND, "");
  let at = 0;
  for (const style of shown.matchAll(STYLE)) {
    parts.push(harmless(shown.slice(at, style.index)), style[0]);
    at = style.index + style[0].length;
  }
  return [...parts, harmless(shown.slice(at))].join("");
}

/** The same without colours, on one line of at most `most` characters. */
export function plainOutput(text: string, most: number): string {
  const flat = cleanOutput(text.slice(0, 8 * most)).replace(STYLE, "").replace(/\s+/g, " ").trim();
  return flat.length <= most ? flat : `${flat.slice(0, most - 1).toWellFormed()}…`;
}

/** `text` without escape sequences, and without the rest of one that was cut in two. */
function harmless(text: string): string {
  return replaceControls(text.replace(SEQUENCE, ""), (c) => "\t\n".includes(c) ? c : "");
}
