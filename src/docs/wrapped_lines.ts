/**
 * Text of several looks in lines of one width. Pure.
 *
 * @module
 */

/** Text of one look. */
export interface Piece {
  readonly text: string;
  readonly look?: "strong" | "code";
}

/** Columns that a text takes. */
export function widthOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { text }) => sum + text.length, 0);
}

/** The lines of a text; a word that is wider than they are has one of its own. */
export function wrap(pieces: readonly Piece[], width: number): (readonly Piece[])[] {
  const lines: Piece[][] = [[]];
  for (const word of wordsOf(pieces)) {
    const line = lines.at(-1) ?? [];
    const isFirst = line.length === 0;
    if (isFirst || widthOf(line) + 1 + widthOf(word) <= width) {
      line.push(...isFirst ? word : [{ text: " " }, ...word]);
    } else lines.push([...word]);
  }
  return lines.map(joined).filter((line, at) => line.length > 0 || at > 0);
}

/** Words, each of one piece or of several that no blank parts. */
function wordsOf(pieces: readonly Piece[]): Piece[][] {
  const words: Piece[][] = [];
  let isOpen = false;
  for (const { text, ...look } of pieces) {
    for (const part of text.split(/(\s+)/)) {
      if (part.trim() === "") {
        if (part !== "") isOpen = false;
        continue;
      }
      const piece = { text: part, ...look };
      if (isOpen) words.at(-1)?.push(piece);
      else words.push([piece]);
      isOpen = true;
    }
  }
  return words;
}

/** A line with neighbours of one look in one piece. */
function joined(line: readonly Piece[]): Piece[] {
  const pieces: Piece[] = [];
  for (const [at, piece] of line.entries()) {
    const last = pieces.at(-1);
    const next = line[at + 1];
    const isBetween = piece.text === " " && last?.look === next?.look;
    if (last !== undefined && (last.look === piece.look || isBetween)) {
      pieces[pieces.length - 1] = { ...last, text: last.text + piece.text };
    } else pieces.push(piece);
  }
  return pieces;
}
