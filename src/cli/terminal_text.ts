/**
 * Texts for a terminal. Texts from outside keep their colours only in the output of tasks; everything
 * else that would control the terminal (titles, cursor, clipboard, links) is removed, and invisible
 * characters are spelled out. The sequences that svc itself sends are here, too.
 *
 * @module
 */

import { spellInLines } from "../base/control_characters.ts";
import { BELL, cleanOutput, ESCAPE } from "../base/output_text.ts";

let safe: (text: string) => SafeText;

/** A text that may contain sequences for the terminal. Only this file can make one. */
export class SafeText {
  readonly text: string;

  private constructor(text: string) {
    this.text = text;
  }

  static {
    safe = (text) => new SafeText(text);
  }
}

/** Puts the terminal's colours back. */
export const PLAIN = safe(`${ESCAPE}[0m`);
/** Makes the line empty and goes back to its start. */
export const CLEAR_LINE = safe(`\r${ESCAPE}[K`);

/** A text in red. */
export const red = (text: string): SafeText => coloured(text, 31);
/** A text in green. */
export const green = (text: string): SafeText => coloured(text, 32);
/** A text in yellow. */
export const yellow = (text: string): SafeText => coloured(text, 33);

function coloured(text: string, code: number): SafeText {
  return safe(`${ESCAPE}[${code}m${spellInLines(text)}${PLAIN.text}`);
}

/** A text in pieces, each in its look. */
export function styled(
  pieces: readonly { readonly text: string; readonly look?: "strong" | "code" }[],
): SafeText {
  const codes = { strong: 1, code: 36 };
  return safe(
    pieces.map(({ text, look }) =>
      look === undefined ? spellInLines(text) : coloured(text, codes[look]).text
    ).join(""),
  );
}

/**
 * An unfinished sequence whose end may come with the next bytes, or characters that join with those
 * beside them.
 */
const BEGUN = new RegExp(
  `(?:[\r\u200c\u200d\ufe0e\ufe0f]|${ESCAPE}(?:\\[[0-?]*[ -/]*|[\\]P^_X][^${BELL}${ESCAPE}]*${ESCAPE}?|[ -/]*)?)$`,
);

/** A sequence longer than this is not waited for. */
const MAX_HELD = 4096;

/** Number of characters before a joiner that decide whether it belongs there. */
const MAX_BEFORE = 4;

/** Spells out the invisible characters of cleaned output; its colours stay. */
function spellStyled(text: string): string {
  return spellInLines(text, `\n\t${ESCAPE}`);
}

/** Cleans the output of one stream of a task. */
export class TerminalText {
  // Deno 2.9 removes a byte order mark from the beginning of each chunk.
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #held = "";
  /** The end of what was printed. */
  #before = "";

  /** The part of a chunk that may be printed; an unfinished sequence waits for its end. */
  clean(bytes: Uint8Array): SafeText {
    const text = this.#held + this.#decoder.decode(bytes, { stream: true });
    const begun = BEGUN.exec(text)?.index ?? text.length;
    const end = text.length - begun > MAX_HELD ? text.length : begun;
    this.#held = text.slice(end);
    const shown = this.#before + cleanOutput(text.slice(0, end));
    const done = spellStyled(this.#before).length;
    this.#before = shown.slice(-MAX_BEFORE);
    return safe(spellStyled(shown).slice(done));
  }
}

/** A line of the output of a task; its colours end with it. */
export function styledLine(text: string): SafeText {
  const line = spellStyled(cleanOutput(text).replaceAll("\n", " "));
  return safe(line.includes(ESCAPE) ? line + PLAIN.text : line);
}

/**
 * A text on one line with invisible characters spelled out, so that text of a payload cannot pass
 * for another line.
 */
export function printable(text: string): string {
  return spellInLines(text.replace(/\p{Cc}+/gu, " "));
}
