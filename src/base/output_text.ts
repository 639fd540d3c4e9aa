/**
 * What of the output of a task is shown, in a terminal and in a page: its text and its colours. All
 * else that would drive a terminal (titles, cursor, clipboard, links) goes, and so does what nobody
 * sees.
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

/** What begins every sequence to a terminal. */
export const ESCAPE = String.fromCharCode(0x1b);
/** What ends some of them. */
export const BELL = String.fromCharCode(0x07);

/** A colour or a style (SGR). */
const STYLE = new RegExp(`${ESCAPE}\\[[0-9;]*m`, "g");

/** A command to the terminal (title, link, clipboard) as a whole, however it ends. */
const COMMAND = new RegExp(
  `${ESCAPE}[\\]P^_X][^${BELL}${ESCAPE}]*(?:${BELL}|${ESCAPE}\\\\)`,
  "g",
);

/** Any other sequence, and the beginning of a command whose end has not come. */
const SEQUENCE = new RegExp(`${ESCAPE}(?:\\[[0-?]*[ -/]*[@-~]|[ -/]*[0-~])`, "g");

/** Text and colours of output; a line that begins anew is another, and hides none. */
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

/** Without escape sequences, and without what an escape cut in two leaves behind. */
function harmless(text: string): string {
  return replaceControls(text.replace(SEQUENCE, ""), (c) => "\t\n".includes(c) ? c : "");
}
