/**
 * Quotes texts for a shell.
 *
 * ```ts
 * import { shellWord } from "./shell_word.ts";
 * import { strictEqual as equal } from "node:assert/strict";
 *
 * equal(shellWord("it's"), String.raw`'it'\''s'`);
 * ```
 *
 * @module
 */

/** `text` as one word of a POSIX shell; `text` has no NUL. */
export function shellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
