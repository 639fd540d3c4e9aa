/**
 * Assembles lines from the pieces of several streams, which come in any order and are cut anywhere.
 * It works on bytes, so that a line has whole characters even where a cut divided one.
 *
 * @module
 */

import { concatBytes } from "../base/bytes.ts";

/** A piece of a stream. */
export interface Piece {
  /** Time of its arrival, in milliseconds since the epoch. */
  readonly at: number;
  readonly bytes: Uint8Array;
}

/** A line of one stream. */
export interface AssembledLine<Source> extends Piece {
  /** The source that came with the first piece of the line. */
  readonly source: Source;
}

/** The beginning of a line whose end has not arrived. */
interface PartialLine<Source> {
  readonly at: number;
  readonly source: Source;
  readonly parts: Uint8Array[];
  length: number;
}

/** Longest line; a longer one is divided, so that no stream fills the memory. */
export const MAX_LINE_BYTES = 64 * 1024;

const LINE_BREAK = 10;

/** Assembles the lines of any number of streams. */
export class LineAssembler<Source> {
  /** The partial line of each stream, by its key. */
  readonly #partial = new Map<string, PartialLine<Source>>();
  readonly #keyOf: (source: Source) => string;

  /** Sources with the same key are the same stream. */
  constructor(keyOf: (source: Source) => string) {
    this.#keyOf = keyOf;
  }

  /** The lines that end in a piece, with their line breaks; the time of a line is that of its first piece. */
  push(source: Source, piece: Piece): AssembledLine<Source>[] {
    const lines: AssembledLine<Source>[] = [];
    const key = this.#keyOf(source);
    for (let at = 0; at < piece.bytes.length;) {
      const line = this.#partial.get(key) ?? { at: piece.at, source, parts: [], length: 0 };
      const room = piece.bytes.subarray(at, at + MAX_LINE_BYTES - line.length);
      const end = room.indexOf(LINE_BREAK);
      const part = end === -1 ? room : room.subarray(0, end + 1);
      line.parts.push(part);
      line.length += part.length;
      at += part.length;
      const isWhole = end !== -1 || line.length === MAX_LINE_BYTES;
      if (isWhole) {
        lines.push(assemble(line));
        this.#partial.delete(key);
      } else {
        this.#partial.set(key, line);
      }
    }
    return lines;
  }

  /** The partial lines, the oldest first. The next piece of their stream begins a new line. */
  flush(): AssembledLine<Source>[] {
    const lines = [...this.#partial.values()].map(assemble);
    this.#partial.clear();
    return lines;
  }
}

function assemble<Source>({ at, source, parts }: PartialLine<Source>): AssembledLine<Source> {
  return { at, source, bytes: concatBytes(...parts) };
}
