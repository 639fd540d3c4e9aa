/**
 * Makes untrusted texts safe to read: characters that are invisible or change the direction of a
 * line (control characters, direction marks, lone surrogates, characters without width) are spelled
 * out and marked.
 *
 * @module
 */

import { hiddenRuns, spelled } from "../../../src/base/control_characters.ts";

/** A piece of a text: as it is in the text, or spelled out. */
export interface Piece {
  readonly text: string;
  /** Whether the piece spells out characters that would be invisible. */
  readonly isSpelled: boolean;
}

/**
 * Takes a text apart; pieces beside each other differ in `isSpelled`.
 *
 * @param lines whether line ends and tabs stay what they are.
 */
export function pieces(text: string, lines = false): readonly Piece[] {
  const found: Piece[] = [];
  const add = (part: string, isSpelled: boolean) => {
    const last = found.at(-1);
    if (part === "") return;
    if (last?.isSpelled === isSpelled) {
      found[found.length - 1] = { text: last.text + part, isSpelled };
    } else found.push({ text: part, isSpelled });
  };
  let at = 0;
  for (const hidden of hiddenRuns(text)) {
    add(text.slice(at, hidden.at), false);
    at = hidden.at + hidden.run.length;
    // In a text with lines, `\r\n` also ends a line.
    const run = lines ? hidden.run.replaceAll("\r\n", "\n") : hidden.run;
    for (const part of run.split(/([\n\t]+)/)) {
      if (lines && /^[\n\t]/.test(part)) add(part, false);
      else add(Array.from(part, spelled).join(""), true);
    }
  }
  add(text.slice(at), false);
  return found;
}

/** The pieces of a text joined, for places without markup. */
export function printable(text: string, lines = false): string {
  return pieces(text, lines).map((piece) => piece.text).join("");
}

/** The first `length` UTF-16 units, or one less so that no surrogate pair is split. */
export function cut(text: string, length: number): string {
  const head = text.slice(0, length);
  return text.length > length && /[\ud800-\udbff]$/.test(head) ? head.slice(0, -1) : head;
}

/** Cuts a text into slices of about `length`, at line ends if there are any. */
export function slices(text: string, length: number): readonly string[] {
  const found: string[] = [];
  for (let at = 0; at < text.length;) {
    const slice = cut(text.slice(at, at + length + 1), length);
    const end = at + slice.length < text.length ? slice.lastIndexOf("\n") + 1 : 0;
    const taken = end === 0 ? slice : slice.slice(0, end);
    found.push(taken);
    at += taken.length;
  }
  return found;
}
