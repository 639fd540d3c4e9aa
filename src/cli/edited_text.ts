/**
 * Adds comments to the text that `svc edit` opens in an editor, and removes them afterwards. Pure.
 *
 * @module
 */

import type { AppError } from "../base/errors.ts";

/** A text that was refused, and why. */
export interface Refusal {
  readonly text: string;
  readonly error: Pick<AppError, "message" | "details">;
}

/** `text` below a comment that says what to do with it. */
export function withHint(text: string, hint: readonly string[]): string {
  return toComment(hint) + text;
}

/**
 * The refused text again, below its errors. Their `FILE:LINE:COLUMN` count the lines as the editor
 * shows them, comments included.
 */
export function withErrors({ text, error }: Refusal, hint: readonly string[]): string {
  const lines = [error.message, ...error.details.map((detail) => `  ${detail}`), "", ...hint];
  const shifted = lines.map((line) =>
    line.replace(
      /^( {2}[^:]*:)(\d+)(?=:\d+: )/,
      (_, file: string, number: string) => file + String(Number(number) + lines.length),
    )
  );
  return toComment(shifted) + text;
}

/** The saved text, without the comments at its top. */
export function withoutComments(saved: string): string {
  return saved.replace(/^(#[^\n]*(\n|$))+/, "");
}

/** Whether two texts are equal but for white space at their ends. */
export function sameText(one: string, other: string): boolean {
  return one.trimEnd() === other.trimEnd();
}

function toComment(lines: readonly string[]): string {
  return lines.map((line) => `${`# ${line.replace(/[\r\n]+/g, " ")}`.trimEnd()}\n`).join("");
}
