/**
 * A page as a terminal shows it: text in lines of its width, tables that fit or else a block for each
 * row, code as it stands. Pure: what the lines look like is said in words, not in sequences.
 *
 * @module
 */

import { hrefOf, type MarkdownToken, plainText, topicOf } from "./markdown.ts";
import { type Piece, widthOf, wrap } from "./wrapped_lines.ts";

/** How a page is shown. */
export interface PageView {
  /** In columns. */
  readonly width: number;
  /** Whether looks are seen; else code keeps its backticks. */
  readonly isStyled: boolean;
  /** Topic of the page: links to it are links within the page. */
  readonly topic: string;
}

/** One line, in pieces of one look each. */
export type Line = readonly Piece[];

const INDENT = 2;
/** Cells are not made narrower than this, or than their longest word. */
const NARROWEST_CELL = 10;
const GAP = 2;

/** The lines of these blocks. */
export function pageLines(tokens: readonly MarkdownToken[], view: PageView): readonly Line[] {
  const lines: Line[] = [];
  for (const [at, block] of blocksOf(tokens).entries()) {
    if (at > 0) lines.push([]);
    lines.push(...blockLines(block, view));
  }
  return lines;
}

/** Tokens of one block each: what opens it, what is in it, what closes it. */
function blocksOf(tokens: readonly MarkdownToken[]): MarkdownToken[][] {
  const blocks: MarkdownToken[][] = [];
  let depth = 0;
  for (const token of tokens) {
    if (depth === 0) blocks.push([]);
    blocks.at(-1)?.push(token);
    depth += token.nesting;
  }
  return blocks;
}

function blockLines(block: readonly MarkdownToken[], view: PageView): readonly Line[] {
  const [first] = block;
  const inside = { ...view, width: view.width - INDENT };
  switch (first?.type) {
    case "heading_open":
      return wrap(bold(piecesOf(block[1], view)), view.width);
    case "fence":
    case "code_block":
      return first.content.trimEnd().split("\n").map((text) =>
        text === "" ? [] : [blank(2 * INDENT), { text, look: "code" }]
      );
    case "bullet_list_open":
    case "ordered_list_open":
      return indented(listLines(block, inside), INDENT);
    case "table_open":
      return indented(tableLines(block, inside), INDENT);
    case "hr":
      return [];
    case "blockquote_open":
      return indented(pageLines(block.slice(1, -1), inside), INDENT);
    default:
      return indented(wrap(piecesOf(block.find(isInline), view), inside.width), INDENT);
  }
}

function listLines(block: readonly MarkdownToken[], view: PageView): Line[] {
  const start = Number(block[0]?.attrGet("start") ?? 1);
  const isOrdered = block[0]?.type === "ordered_list_open";
  const width = view.width;
  return blocksOf(block.slice(1, -1)).flatMap((item, at) => {
    const mark = isOrdered ? `${start + at}. ` : "- ";
    const inner = { ...view, width: width - mark.length + INDENT };
    const lines = blocksOf(item.slice(1, -1)).flatMap((one, index) => [
      ...index === 0 || one[0]?.type !== "fence" ? [] : [[]],
      ...blockLines(one, inner).map(unindented),
    ]);
    return lines.map((line, index): Line =>
      line.length === 0 ? line : [index === 0 ? { text: mark } : blank(mark.length), ...line]
    );
  });
}

function tableLines(block: readonly MarkdownToken[], view: PageView): Line[] {
  const rows: Piece[][][] = [];
  for (const token of block) {
    if (token.type === "tr_open") rows.push([]);
    if (isInline(token)) rows.at(-1)?.push(piecesOf(token, view));
  }
  const [head = [], ...body] = rows;
  const widths = columnWidths(rows, view.width);
  if (widths === undefined) return rowBlocks(head, body, view.width);
  const hasHead = head.some((cell) => cell.length > 0);
  return [
    ...hasHead ? rowLines(head.map(bold), widths) : [],
    ...body.flatMap((row) => rowLines(row, widths)),
  ];
}

/** Widths with which a table fits, its cells in several lines; `undefined` where none do. */
function columnWidths(rows: readonly Piece[][][], room: number): number[] | undefined {
  const columns = rows[0]?.length ?? 0;
  const most = (measure: (cell: readonly Piece[]) => number) =>
    Array.from(
      { length: columns },
      (_, at) => Math.max(1, ...rows.map((row) => measure(row[at] ?? []))),
    );
  const widths = most(widthOf);
  const words = (cell: readonly Piece[]) =>
    Math.max(0, ...cell.flatMap(({ text }) => text.split(" ").map(({ length }) => length)));
  const least = most((cell) => Math.min(widthOf(cell), Math.max(NARROWEST_CELL, words(cell))));
  // A column gives way by how much it has to say: one of short words before one of sentences.
  const share = Array.from(
    { length: columns },
    (_, at) => Math.sqrt(rows.reduce((sum, row) => sum + widthOf(row[at] ?? []), 1)),
  );
  const available = room - GAP * (columns - 1);
  const over = () => widths.reduce((sum, width) => sum + width, 0) - available;
  while (over() > 0) {
    const widest = widths.map((width, at) => ({ width, at }))
      .filter(({ width, at }) => width > (least[at] ?? 0))
      .toSorted((a, b) => b.width / (share[b.at] ?? 1) - a.width / (share[a.at] ?? 1))[0];
    if (widest === undefined) return undefined;
    widths[widest.at] = widest.width - 1;
  }
  return widths;
}

function rowLines(cells: readonly (readonly Piece[])[], widths: readonly number[]): Line[] {
  const wrapped = cells.map((cell, at) => wrap(cell, widths[at] ?? 1));
  const height = Math.max(1, ...wrapped.map((lines) => lines.length));
  return Array.from({ length: height }, (_, index) =>
    wrapped.flatMap((lines, at): Piece[] => {
      const line = lines[index] ?? [];
      const isLast = wrapped.slice(at + 1).every((other) => (other[index] ?? []).length === 0);
      if (isLast) return [...line];
      return [...line, blank((widths[at] ?? 1) - widthOf(line) + GAP)];
    }));
}

/** A block for each row, a line or more for each cell, behind the heading of its column. */
function rowBlocks(
  head: readonly (readonly Piece[])[],
  body: readonly Piece[][][],
  width: number,
): Line[] {
  return body.flatMap((row, at) => {
    const lines = row.flatMap((cell, column) => {
      const label = head[column] ?? [];
      const isFirst = column === 0;
      if (cell.length === 0) return [];
      const named = isFirst || label.length === 0
        ? isFirst ? bold(cell) : cell
        : [...label, { text: ": " }, ...cell];
      return indented(wrap(named, width - (isFirst ? 0 : INDENT)), isFirst ? 0 : INDENT);
    });
    return at === 0 ? lines : [[], ...lines];
  });
}

function isInline({ type }: MarkdownToken): boolean {
  return type === "inline";
}

/** What stands in a line. */
function piecesOf(token: MarkdownToken | undefined, view: PageView): Piece[] {
  const pieces: Piece[] = [];
  let [isStrong, href, linkStart] = [false, "", 0];
  for (const child of token?.children ?? []) {
    if (child.type === "strong_open") isStrong = true;
    else if (child.type === "strong_close") isStrong = false;
    else if (child.type === "link_open") {
      [href, linkStart] = [hrefOf(child), pieces.length];
    } else if (child.type === "link_close") {
      pieces.push(...linkEnd(href, pieces.splice(linkStart), view));
    } else if (child.type === "softbreak" || child.type === "hardbreak") pieces.push({ text: " " });
    else if (child.type === "image") pieces.push({ text: `[picture: ${plainText(child)}]` });
    else if (child.type === "code_inline") {
      pieces.push({ text: view.isStyled ? child.content : `\`${child.content}\``, look: "code" });
    } else if (child.content !== "") {
      pieces.push(isStrong ? { text: child.content, look: "strong" } : { text: child.content });
    }
  }
  return pieces;
}

/** A link: its text, and where it leads, where that can be gone to from here. */
function linkEnd(href: string, text: readonly Piece[], { topic }: PageView): readonly Piece[] {
  const said = text.map((piece) => piece.text).join("");
  if (/^https?:/.test(href)) return said === href ? text : [...text, { text: ` <${href}>` }];
  const to = topicOf(href);
  if (to === undefined || to.topic === topic) return text;
  const command: Piece = { text: `svc docs ${to.topic}${to.section}`, look: "code" };
  return said.replaceAll("`", "") === `${to.topic}.md`
    ? [command]
    : [...text, { text: " (" }, command, { text: ")" }];
}

function bold(pieces: readonly Piece[]): Piece[] {
  return pieces.map(({ text }) => ({ text, look: "strong" as const }));
}

function blank(width: number): Piece {
  return { text: " ".repeat(Math.max(0, width)) };
}

function indented(lines: readonly Line[], by: number): Line[] {
  return lines.map((line) => line.length === 0 || by === 0 ? line : [blank(by), ...line]);
}

function unindented(line: Line): Line {
  return line[0]?.text === " ".repeat(INDENT) ? line.slice(1) : line;
}
