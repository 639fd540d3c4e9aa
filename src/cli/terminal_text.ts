/**
 * Output of strangers on a terminal: colours stay, everything else that would drive the terminal
 * (titles, cursor, clipboard, links) goes. Not applied where output goes to a file or a pipe.
 *
 * @module
 */

import { stripVTControlCharacters } from "node:util";

const ESCAPE = String.fromCharCode(0x1b);
const BELL = String.fromCharCode(0x07);

/** A colour or a style (SGR). */
const STYLE = new RegExp(`${ESCAPE}\\[[0-9;]*m`, "g");

/** The beginning of a sequence whose end may come with the next bytes. */
const BEGUN = new RegExp(
  `${ESCAPE}(?:\\[[0-?]*[ -/]*|[\\]P^_X][^${BELL}${ESCAPE}]*${ESCAPE}?|[ -/]*)?$`,
);

/** A command to the terminal (title, link, clipboard) as a whole, however it ends. */
const COMMAND = new RegExp(
  `${ESCAPE}[\\]P^_X][^${BELL}${ESCAPE}]*(?:${BELL}|${ESCAPE}\\\\)`,
  "g",
);

/** A sequence longer than this is not waited for. */
const MAX_HELD = 4096;

/** Puts the terminal's colours back. */
export const PLAIN = `${ESCAPE}[0m`;

/** Cleans one stream of bytes. */
export class TerminalText {
  readonly #active: boolean;
  readonly #decoder = new TextDecoder();
  #held = "";

  /** Leaves bytes as they are unless `active`. */
  constructor(active: boolean) {
    this.#active = active;
  }

  /** What may be printed of a chunk; a sequence that has begun waits for its end. */
  clean(bytes: Uint8Array): string | Uint8Array {
    if (!this.#active) return bytes;
    const text = this.#held + this.#decoder.decode(bytes, { stream: true });
    const begun = BEGUN.exec(text)?.index ?? text.length;
    const end = text.length - begun > MAX_HELD ? text.length : begun;
    this.#held = text.slice(end);
    return cleanText(text.slice(0, end));
  }
}

/** What may be printed of a text that is whole. */
export function cleanText(text: string): string {
  const parts: string[] = [];
  const shown = text.replace(COMMAND, "");
  let at = 0;
  for (const style of shown.matchAll(STYLE)) {
    parts.push(harmless(shown.slice(at, style.index)), style[0]);
    at = style.index + style[0].length;
  }
  return [...parts, harmless(shown.slice(at))].join("");
}

/** Without escape sequences, and without what an escape cut in two leaves behind. */
function harmless(text: string): string {
  return stripVTControlCharacters(text).replace(/\p{Cc}/gu, (c) => "\t\n\r".includes(c) ? c : "");
}

/** One line without control characters: what a payload brought may not drive the terminal. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}+/gu, " ");
}
