/**
 * A request as a `curl` command line that a shell reads back exactly.
 *
 * @module
 */

import { findText } from "../base/bytes.ts";
import { escapeInLines } from "../base/control_characters.ts";
import { shellWord } from "../base/shell_word.ts";

/** Most bytes of a body on the command line: a shell takes an argument of about 128 KiB. */
const MAX_INLINE_BYTES = 100_000;

/** The line; `data` are the words that give the body. */
export function curlLine(
  url: string,
  headers: Readonly<Record<string, string>>,
  data: readonly string[],
): string {
  const words = [
    "curl",
    // otherwise curl reads these characters as patterns
    ...(/[[\]{}]/.test(url) ? ["--globoff"] : []),
    ...Object.entries(headers).flatMap(([name, value]) => [
      "-H",
      value === "" ? `${name};` : `${name}: ${value}`, // "name:" would remove the header
    ]),
    ...data,
    url,
  ];
  return `${words.map(quote).join(" ")}\n`;
}

/**
 * The words for `curl` that hold a body; `undefined` if a command line or a terminal would change
 * it.
 */
export function inlineData(bytes: Uint8Array): readonly string[] | undefined {
  const text = findText(bytes);
  if (text === undefined || bytes.length > MAX_INLINE_BYTES) return undefined;
  if (escapeInLines(text) !== text) return undefined;
  return ["--data-raw", text]; // --data-binary would read a leading @ as the name of a file
}

/** Quotes a word for a POSIX shell. */
function quote(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : shellWord(word);
}
