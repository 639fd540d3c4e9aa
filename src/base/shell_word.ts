/**
 * Texts as words of a shell.
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

/** One word that every POSIX shell reads back as `text`, which holds no NUL. */
export function shellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
