/**
 * Puts lines together from the pieces of several streams that come mixed, each cut anywhere. Knows
 * bytes only, so that a character cut in two is whole again in its line.
 *
 * @module
 */

import { concatBytes } from "./bytes.ts";

/** A piece of a stream. */
export interface Piece {
  /** Milliseconds since the epoch when it came. */
  readonly at: number;
  /** Its bytes. */
  readonly bytes: Uint8Array;
}

/** A line of one stream. */
export interface Line<Source> extends Piece {
  /** The stream, as it was named with the line's first piece. */
  readonly source: Source;
}

/** A line that has begun. */
interface Begun<Source> {
  readonly at: number;
  readonly source: Source;
  readonly parts: Uint8Array[];
  length: number;
}

/** Longest line; what goes beyond is a line of its own, so that no stream fills the memory. */
export const MAX_LINE_BYTES = 64 * 1024;

const LINE_BREAK = 10;

/** Assembles the lines of any number of streams. */
export class Lines<Source> {
  readonly #begun = new Map<string, Begun<Source>>();
  readonly #keyOf: (source: Source) => string;

  /** Streams with the same key are one. */
  constructor(keyOf: (source: Source) => string) {
    this.#keyOf = keyOf;
  }

  /**
   * The lines that end in a piece, with their line breaks; their time is that of their beginning.
   */
  push(source: Source, piece: Piece): Line<Source>[] {
    const lines: Line<Source>[] = [];
    const key = this.#keyOf(source);
    for (let at = 0; at < piece.bytes.length;) {
      const begun = this.#begun.get(key) ?? { at: piece.at, source, parts: [], length: 0 };
      const room = piece.bytes.subarray(at, at + MAX_LINE_BYTES - begun.length);
      const end = room.indexOf(LINE_BREAK);
      const part = end === -1 ? room : room.subarray(0, end + 1);
      begun.parts.push(part);
      begun.length += part.length;
      at += part.length;
      const isWhole = end !== -1 || begun.length === MAX_LINE_BYTES;
      if (isWhole) {
        lines.push(toLine(begun));
        this.#begun.delete(key);
      } else {
        this.#begun.set(key, begun);
      }
    }
    return lines;
  }

  /** Lines that have begun and not ended, the oldest first; they begin anew with the next piece. */
  flush(): Line<Source>[] {
    const lines = [...this.#begun.values()].map(toLine);
    this.#begun.clear();
    return lines;
  }
}

function toLine<Source>({ at, source, parts }: Begun<Source>): Line<Source> {
  return { at, source, bytes: concatBytes(...parts) };
}
