/**
 * A request as a `curl` command line that a shell reads back exactly.
 *
 * @module
 */

import { findText } from "../base/bytes.ts";
import { escapeInLines } from "../base/control_characters.ts";
import { shellWord } from "../base/shell_word.ts";

/** A shell takes an argument of about 128 KiB. */
const MAX_INLINE_BYTES = 100_000;

/** The line; `data` are the words that give the body. */
export function curlLine(
  url: string,
  headers: Readonly<Record<string, string>>,
  data: readonly string[],
): string {
  const words = [
    "curl",
    ...(/[[\]{}]/.test(url) ? ["--globoff"] : []), // else curl takes them for patterns
    ...Object.entries(headers).flatMap(([name, value]) => [
      "-H",
      value === "" ? `${name};` : `${name}: ${value}`, // "name:" would take a header away
    ]),
    ...data,
    url,
  ];
  return `${words.map(quote).join(" ")}\n`;
}

/** Words that hold a body; none where no command line, or no terminal, takes it as it is. */
export function inlineData(bytes: Uint8Array): readonly string[] | undefined {
  const text = findText(bytes);
  if (text === undefined || bytes.length > MAX_INLINE_BYTES) return undefined;
  if (escapeInLines(text) !== text) return undefined;
  return ["--data-raw", text]; // --data-binary would take a leading @ for a file
}

/** A word as a POSIX shell reads it back. */
function quote(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : shellWord(word);
}
