/**
 * Fits tables to the width of a terminal. Columns without information are left out first; ids lose
 * their beginning, which is a time and similar in all of them; then long texts and names are cut;
 * before these get too short, the least important columns are left out.
 *
 * @module
 */

import type { TableColumn } from "../api/resource_operations.ts";
import { printable } from "./terminal_text.ts";
import { type TextWidth, textWidthFor } from "./text_width.ts";

/** Characters of an id that are enough to find it. */
const SHORT_ID = 8;
/**
 * Least widths of texts and names, in two rounds, so that no column gets very narrow before all
 * others have given way.
 */
const LEAST = [{ text: 16, name: 12 }, { text: 8, name: 6 }] as const;
/** Blanks between two columns. */
const GAP = 2;

/** Rows under headings, a line each; whole where `room` is `undefined`. */
export async function formatTable(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  room: number | undefined,
): Promise<string> {
  const cells = rows.map((row) => columns.map((_, at) => printable(row[at] ?? "")));
  const width = await textWidthFor(cells.flat());
  const needless = columns.map((column, at) =>
    repeats(column, columns, cells) || cells.every((row) => row[at] === "")
  );
  const secondary = columns.map((column) => column.secondary === true);
  const widths = fit(columns, widthsOf(columns, cells, width), { room, needless, secondary });
  const headers = columns.map(({ header }) => header);
  return [headers, ...cells].map((row) => formatRow(row, columns, { width, widths, room })).join(
    "",
  );
}

/** The width of the widest cell of each column, its heading among them; the cells are printable. */
export function widthsOf(
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
  width: TextWidth,
): number[] {
  return columns.map(({ header }, at) =>
    rows.reduce((most, row) => Math.max(most, width.of(row[at] ?? "")), header.length)
  );
}

/** One line of printable cells; a column whose width is 0 is left out. */
export function formatRow(
  cells: readonly string[],
  columns: readonly TableColumn[],
  { width, widths, room }: {
    width: TextWidth;
    widths: readonly number[];
    room: number | undefined;
  },
): string {
  const shown = columns.flatMap((column, at) => {
    const most = widths[at] ?? 0;
    if (most === 0) return [];
    const text = shorten(cells[at] ?? "", column, most, width);
    return [text + " ".repeat(Math.max(0, most - width.of(text)))];
  });
  const line = shown.join(" ".repeat(GAP)).trimEnd();
  return `${room === undefined ? line : cut(line, room, width)}\n`;
}

/**
 * The widths with which a row fits, as far as columns can be narrowed. A column that is left out
 * has width 0: needless ones first, secondary ones before names and texts get small.
 */
export function fit(
  columns: readonly TableColumn[],
  natural: readonly number[],
  { room, needless = [], secondary = [] }: {
    room: number | undefined;
    needless?: readonly boolean[];
    secondary?: readonly boolean[];
  },
): number[] {
  const widths = [...natural];
  if (room === undefined) return widths;
  const over = () =>
    widths.reduce((sum, width) => sum + (width === 0 ? 0 : width + GAP), -GAP) - room;
  const leaveOut = (which: readonly boolean[]) => {
    for (const [at, mayGo] of which.entries()) if (over() > 0 && mayGo) widths[at] = 0;
  };
  leaveOut(needless);
  if (over() > 0) {
    for (const [at, column] of columns.entries()) {
      if (column.fit === "id") widths[at] = Math.min(natural[at] ?? 0, SHORT_ID);
    }
  }
  const narrow = (least: number, gives: (column: TableColumn) => boolean) => {
    while (over() > 0) {
      const widest = columns.flatMap((column, at) =>
        gives(column) && (widths[at] ?? 0) > least ? [at] : []
      ).toSorted((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0))[0];
      if (widest === undefined) break;
      widths[widest] = (widths[widest] ?? 0) - 1;
    }
  };
  for (const { text, name } of LEAST) {
    narrow(text, (column) => column.fit === "text");
    narrow(name, (column) => column.repeats !== undefined);
    narrow(name, (column) => column.fit === "name");
    leaveOut(secondary);
  }
  return widths;
}

function repeats(
  { repeats: other }: TableColumn,
  columns: readonly TableColumn[],
  rows: readonly (readonly string[])[],
): boolean {
  const from = columns.findIndex(({ header }) => header === other);
  const at = columns.findIndex((column) => column.repeats === other);
  return from !== -1 && rows.every((cells) => cells[at] === cells[from]);
}

function shorten(
  text: string,
  { fit: how, header }: TableColumn,
  most: number,
  width: TextWidth,
): string {
  if (how === "id" && text !== header && text.length > most) return text.slice(-most);
  return how === "name" ? cutMiddle(text, most, width) : cut(text, most, width);
}

/** Cuts the middle of a name, because names that begin alike differ at their ends. */
function cutMiddle(text: string, most: number, width: TextWidth): string {
  if (width.of(text) <= most || most < 5 || width.of(text) !== text.length) {
    return cut(text, most, width);
  }
  const end = Math.floor((most - 1) / 2);
  return `${text.slice(0, most - 1 - end)}…${text.slice(-end)}`;
}

/** A text with its end cut off where it is wider, counted in columns of a terminal. */
function cut(text: string, most: number, width: TextWidth): string {
  if (width.of(text) <= most) return text;
  let kept = "";
  let used = 1; // the ellipsis
  for (const character of width.characters(text)) {
    used += width.of(character);
    if (used > most) break;
    kept += character;
  }
  return `${kept.trimEnd()}…`;
}

/** Breaks a printable text into lines of at most `room` columns; only a longer word makes a longer line. */
export async function wrapped(text: string, room: number): Promise<string[]> {
  const width = await textWidthFor([text]);
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    const longer = last === undefined ? word : `${last} ${word}`;
    if (last === undefined || width.of(longer) > room) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}
