/**
 * Characters that nobody sees and that a terminal obeys: control characters, and marks that turn
 * the direction of a line, with which a text looks like another.
 *
 * @module
 */

// deno-lint-ignore no-control-regex -- control characters are what is looked for
const CONTROLS = /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A text with something else in the place of each. */
export function replaceControls(text: string, replace: (control: string) => string): string {
  return text.replace(CONTROLS, replace);
}

/** A text in which they are spelled as in JSON: what was JSON stays it, with the same values. */
export function escapeControls(text: string): string {
  return replaceControls(text, escaped);
}

/** The same for a text of lines, which stay lines. */
export function escapeInLines(text: string): string {
  return replaceControls(
    text.replaceAll("\r\n", "\n"),
    (control) => control === "\n" || control === "\t" ? control : escaped(control),
  );
}

function escaped(control: string): string {
  return `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
