/**
 * A line of output as pieces of text with classes. Terminal colours become the sixteen colours of
 * the style sheet, which are readable on its background; all other bytes become text.
 *
 * @module
 */

import Anser from "anser";
import { cleanOutput } from "../../../src/base/output_text.ts";

/** A piece of a line with the same look. */
export interface Piece {
  readonly text: string;
  /** Empty for plain text. */
  readonly class: string;
  /** Whether the piece is a match of the search. */
  readonly found: boolean;
}

/** Longest line that is shown whole, in characters. */
const MAX_SHOWN = 10_000;

/** The shown pieces of a line, and the number of further characters. */
export function piecesOf(
  text: string,
  searched = "",
): { readonly pieces: readonly Piece[]; readonly rest: number } {
  const line = cleanOutput(text.slice(0, MAX_SHOWN)).replaceAll("\n", " ");
  const rest = Math.max(0, text.length - MAX_SHOWN);
  const styled = line.includes("\x1b") ? styledPieces(line) : [plain(line)];
  return { pieces: searched === "" ? styled : marked(styled, searched), rest };
}

/** The text of a line as it is shown, without colours. */
export function plainText(text: string): string {
  const line = cleanOutput(text).replaceAll("\n", " ");
  return line.includes("\x1b") ? Anser.ansiToText(line) : line;
}

function plain(text: string): Piece {
  return { text, class: "", found: false };
}

function styledPieces(line: string): Piece[] {
  const anser = new Anser();
  const [first = "", ...rest] = line.split("\x1b[");
  // Each entry is read before the next is made: the entries of Anser share state.
  const pieces = rest.map((chunk) =>
    toPiece(anser.processChunkJson(chunk, { use_classes: true }, true))
  );
  return [plain(first), ...pieces].filter(({ text }) => text !== "");
}

function toPiece(entry: Anser.AnserJsonEntry): Piece {
  const { content, decorations } = entry;
  const turned = decorations.includes("reverse");
  const own = colourOf(entry.fg, entry.fg_truecolor);
  const ground = colourOf(entry.bg, entry.bg_truecolor);
  const [fg, bg] = turned ? [ground, own] : [own, ground];
  const classes: string[] = decorations.filter((one) => SHOWN.includes(one));
  if (fg !== "") classes.push(`fg-${fg}`);
  // A text on a background of its own colour would be invisible.
  if (bg !== "" && bg !== fg) classes.push(`bg-${bg}`);
  if (turned && bg === "") classes.push("turned");
  return { text: content, class: classes.join(" "), found: false };
}

/** The decorations that the page shows; hidden text is shown, and blinking text does not blink. */
const SHOWN: readonly string[] = ["bold", "dim", "italic", "underline", "strikethrough"];

/** The name of a colour of the style sheet, such as `red` or `bright-blue`; empty for none. */
function colourOf(named: string | null, exact: string | null): string {
  if (named === null) return "";
  const index = /^ansi-palette-([0-9]+)$/.exec(named)?.[1];
  if (index !== undefined) return ofPalette(Number(index));
  if (named === "ansi-truecolor") {
    const [r = 0, g = 0, b = 0] = (exact ?? "").split(",").map(Number);
    return nearest(r, g, b);
  }
  return named.replace(/^ansi-/, "");
}

const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

function ofPalette(index: number): string {
  if (index < 16) return `${index < 8 ? "" : "bright-"}${NAMES[index % 8]}`;
  if (index >= 232) {
    const level = 8 + (index - 232) * 10;
    return nearest(level, level, level);
  }
  const level = (step: number) => step === 0 ? 0 : 55 + 40 * step;
  const at = index - 16;
  return nearest(level(Math.floor(at / 36)), level(Math.floor(at / 6) % 6), level(at % 6));
}

/** The colour with the same hue among the sixteen. */
function nearest(r: number, g: number, b: number): string {
  const most = Math.max(r, g, b);
  const least = Math.min(r, g, b);
  if (most - least < 32) return most < 64 ? "black" : most < 160 ? "bright-black" : "white";
  const middle = (most + least) / 2;
  const name = NAMES[(r > middle ? 1 : 0) + (g > middle ? 2 : 0) + (b > middle ? 4 : 0)];
  return `${most > 200 && least > 60 ? "bright-" : ""}${name}`;
}

/** The pieces, cut at the start and end of each match of the search. */
function marked(pieces: readonly Piece[], searched: string): readonly Piece[] {
  const line = pieces.map(({ text }) => text).join("");
  const low = line.toLowerCase();
  const wanted = searched.toLowerCase();
  if (low.length !== line.length || wanted === "") return pieces;
  const cuts: { readonly at: number; readonly found: boolean }[] = [{ at: 0, found: false }];
  for (let at = low.indexOf(wanted); at !== -1; at = low.indexOf(wanted, at + wanted.length)) {
    cuts.push({ at, found: true }, { at: at + wanted.length, found: false });
  }
  if (cuts.length === 1) return pieces;
  const marked: Piece[] = [];
  let start = 0;
  for (const { text, class: look } of pieces) {
    const end = start + text.length;
    cuts.forEach(({ at, found }, index) => {
      const from = Math.max(start, at);
      const to = Math.min(end, cuts[index + 1]?.at ?? line.length);
      if (from < to) marked.push({ text: line.slice(from, to), class: look, found });
    });
    start = end;
  }
  return marked;
}
