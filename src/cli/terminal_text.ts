/**
 * Output of strangers on a terminal: colours stay, everything else that would drive the terminal
 * (titles, cursor, clipboard, links) goes. Not applied where output goes to a file or a pipe.
 *
 * @module
 */

import { stripVTControlCharacters } from "node:util";

/** A colour or a style (SGR). */
const STYLE = new RegExp(`${String.fromCharCode(0x1b)}\\[[0-9;]*m`, "g");

/** Cleans one stream of bytes. */
export class TerminalText {
  readonly #active: boolean;
  readonly #decoder = new TextDecoder();

  /** Leaves bytes as they are unless `active`. */
  constructor(active: boolean) {
    this.#active = active;
  }

  /** What may be printed of a chunk. */
  clean(bytes: Uint8Array): string | Uint8Array {
    if (!this.#active) return bytes;
    const text = this.#decoder.decode(bytes, { stream: true });
    const parts: string[] = [];
    let at = 0;
    for (const style of text.matchAll(STYLE)) {
      parts.push(harmless(text.slice(at, style.index)), style[0]);
      at = style.index + style[0].length;
    }
    return [...parts, harmless(text.slice(at))].join("");
  }
}

/** Without escape sequences, and without what an escape cut in two leaves behind. */
function harmless(text: string): string {
  return stripVTControlCharacters(text).replace(/\p{Cc}/gu, (c) => "\t\n\r".includes(c) ? c : "");
}

/** One line without control characters: what a payload brought may not drive the terminal. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}+/gu, " ");
}
