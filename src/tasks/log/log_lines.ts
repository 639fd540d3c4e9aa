/**
 * Puts the lines of a log together from its chunks: a chunk may end within a line, and chunks of
 * several steps come mixed. A line is named by the place where it begins: its chunk, and its number
 * among the lines that begin in that chunk.
 *
 * @module
 */

import { concatBytes } from "../../base/bytes.ts";
import { LINE_BREAK, type LogStream } from "./log_format.ts";
import { chunksBackwards, chunksOf, type LogReader, type PlacedChunk } from "./log_reader.ts";

/** A line of one stream of a step. */
export interface LogLine {
  /** Offset in the log of the chunk in which the line begins. */
  readonly offset: number;
  /** Its number among the lines that begin in that chunk, from 0. */
  readonly n: number;
  /** When it began, in milliseconds since the epoch. */
  readonly at: number;
  readonly step: string;
  readonly stream: LogStream;
  /** Its beginning, up to the longest that was asked for; without the line break. */
  readonly bytes: Uint8Array;
  /** Number of further bytes, as far as they were read. */
  readonly cut: number;
  /** Whether its line break came. */
  readonly ended: boolean;
}

/**
 * Most bytes of other output between two chunks of one line: a later chunk begins a line of its
 * own. So the lines at an offset can be found without reading the log from its start.
 */
export const REACH_BYTES = 256 * 1024;

/** A line whose line break has not come. */
interface UnfinishedLine {
  readonly first: PlacedChunk;
  readonly n: number;
  readonly parts: Uint8Array[];
  length: number;
  cut: number;
  /** Offset of its last chunk. */
  last: number;
  /** Whether it has grown since {@linkcode LineAssembly.open} returned it. */
  isNew: boolean;
  /** Whether it began too early to be returned. */
  readonly isOther: boolean;
}

export interface AssemblyOptions {
  /** Longest line; further bytes are counted only. */
  readonly maxLineBytes: number;
  readonly before: Before;
  /** Whether a line that begins before the first chunk is returned too, when it goes on. */
  readonly withBegun: boolean;
}

/** Assembles lines from chunks, which come in their order in the log. */
export class LineAssembly {
  readonly #options: AssemblyOptions;
  /** By stream of a step; `undefined` where no line has begun. */
  readonly #begun = new Map<string, UnfinishedLine | undefined>();

  constructor(options: AssemblyOptions) {
    this.#options = options;
  }

  /** The lines that this chunk ends. */
  push(chunk: PlacedChunk): LogLine[] {
    const lines: LogLine[] = [];
    const key = keyOf(chunk);
    let begun = this.#begun.has(key) ? this.#begun.get(key) : this.#findBegun(chunk);
    if (begun !== undefined && !reaches(begun.last, chunk)) {
      if (begun.isNew && !begun.isOther) lines.push(toLine(begun, false));
      begun = undefined;
    }
    const { bytes } = chunk;
    // A line that goes on here ends with the first line break: those that begin here count from 1.
    for (let at = 0, n = begun === undefined ? 0 : 1; at < bytes.length;) {
      begun ??= beginning(chunk, n++);
      const end = bytes.indexOf(LINE_BREAK, at);
      this.#add(begun, chunk, bytes.subarray(at, end === -1 ? bytes.length : end));
      if (end === -1) break;
      if (!begun.isOther) lines.push(toLine(begun, true));
      begun = undefined;
      at = end + 1;
    }
    this.#begun.set(key, begun);
    return lines;
  }

  /**
   * Adds a chunk to a line that has begun, and returns the line if the chunk ends it; begins no
   * line.
   */
  finish(chunk: PlacedChunk): LogLine | undefined {
    const key = keyOf(chunk);
    const begun = this.#begun.get(key);
    if (begun === undefined || !reaches(begun.last, chunk)) return undefined;
    const end = chunk.bytes.indexOf(LINE_BREAK);
    this.#add(begun, chunk, end === -1 ? chunk.bytes : chunk.bytes.subarray(0, end));
    if (end === -1) return undefined;
    this.#begun.set(key, undefined);
    return begun.isOther ? undefined : toLine(begun, true);
  }

  /** Unfinished lines that have grown since the last call. */
  open(): LogLine[] {
    const lines: LogLine[] = [];
    for (const begun of this.#begun.values()) {
      if (begun === undefined || begun.isOther || !begun.isNew) continue;
      begun.isNew = false;
      lines.push(toLine(begun, false));
    }
    return lines;
  }

  /**
   * The last offset at which a chunk may continue an unfinished line; `-Infinity` without such a
   * line.
   */
  reach(): number {
    const last = (begun: UnfinishedLine | undefined) =>
      begun === undefined || begun.isOther ? -Infinity : begun.last + REACH_BYTES;
    return Math.max(-Infinity, ...this.#begun.values().map(last));
  }

  #add(begun: UnfinishedLine, chunk: PlacedChunk, bytes: Uint8Array): void {
    const part = bytes.subarray(0, this.#options.maxLineBytes - begun.length);
    if (part.length > 0) begun.parts.push(part);
    begun.length += part.length;
    begun.cut += bytes.length - part.length;
    begun.last = chunk.offset;
    begun.isNew = true;
  }

  /** The line that this chunk, the first of its stream, continues. */
  #findBegun(chunk: PlacedChunk): UnfinishedLine | undefined {
    const { pieces, hasBeginning } = this.#options.before.unfinished(chunk);
    const first = pieces.at(-1);
    if (first === undefined) return undefined;
    const isOther = !this.#options.withBegun || !hasBeginning;
    const begun = { ...beginning(first, countBreaks(first.bytes)), isOther };
    for (const piece of pieces.toReversed()) {
      this.#add(begun, piece, piece.bytes.subarray(piece.bytes.lastIndexOf(LINE_BREAK) + 1));
    }
    return begun;
  }
}

/**
 * The chunks before an offset of the log, as far back as a line may reach; decoded only when
 * needed.
 */
export class Before {
  readonly #chunks: Generator<PlacedChunk>;
  readonly #start: number;
  /** The decoded chunks of each stream, the last one first. */
  readonly #seen = new Map<string, PlacedChunk[]>();
  /** Offset of the oldest decoded chunk. */
  #lookedTo = Infinity;

  private constructor(chunks: Generator<PlacedChunk>, start: number) {
    this.#chunks = chunks;
    this.#start = start;
  }

  static async read(log: LogReader, offset: number): Promise<Before> {
    // Twice the reach: once to the line that continues here, and once more to see that it begins there.
    const start = await log.lineFrom(offset - 2 * REACH_BYTES);
    return new Before(chunksBackwards(await log.bytes(start, offset), start), start);
  }

  /**
   * The chunks of the line that `of`, the first chunk of its stream, continues, the last one first;
   * and whether the line begins in the oldest of them, or before all that was read.
   */
  unfinished(
    of: PlacedChunk,
  ): { readonly pieces: readonly PlacedChunk[]; readonly hasBeginning: boolean } {
    const key = keyOf(of);
    const pieces: PlacedChunk[] = [];
    for (let index = 0, after = of;; index++) {
      const piece = this.#piece(key, index, after.offset - REACH_BYTES);
      if (piece === undefined) {
        return {
          pieces,
          hasBeginning: after.offset - REACH_BYTES >= this.#start || this.#start === 0,
        };
      }
      if (piece.bytes.at(-1) === LINE_BREAK) return { pieces, hasBeginning: true };
      pieces.push(piece);
      if (piece.bytes.includes(LINE_BREAK)) return { pieces, hasBeginning: true };
      after = piece;
    }
  }

  /** The `index`th chunk of a stream, counted backwards, if its offset is `from` or more. */
  #piece(key: string, index: number, from: number): PlacedChunk | undefined {
    while ((this.#seen.get(key)?.length ?? 0) <= index && this.#lookedTo > from) {
      const { done, value } = this.#chunks.next();
      this.#lookedTo = done ? -Infinity : value.offset;
      if (done) break;
      const seen = this.#seen.get(keyOf(value)) ?? [];
      seen.push(value);
      this.#seen.set(keyOf(value), seen);
    }
    const piece = this.#seen.get(key)?.[index];
    return piece !== undefined && piece.offset >= from ? piece : undefined;
  }
}

/** The beginning of a line: the chunk, and its number in that chunk. */
export type LinePlace = Pick<LogLine, "offset" | "n">;

/**
 * Removes from chunks, which come in their order in the log, the parts of lines that began before a
 * place. Holds no chunk.
 */
export class FromPlace {
  readonly #place: LinePlace;
  /** Chunks from this offset on stay whole, whichever line they continue. */
  readonly #end: number;
  /**
   * By stream of a step, the number of line breaks up to which its output is removed, and the
   * offset of its last chunk.
   */
  readonly #drop: Map<string, { breaks: number; last: number }>;

  private constructor(
    place: LinePlace,
    end: number,
    drop: Map<string, { breaks: number; last: number }>,
  ) {
    this.#place = place;
    this.#end = end;
    this.#drop = drop;
  }

  /** Finds the lines that are unfinished at `place`; chunks from `end` on stay whole. */
  static async read(log: LogReader, place: LinePlace, end: number): Promise<FromPlace> {
    const start = await log.lineFrom(place.offset - REACH_BYTES);
    const drop = new Map<string, { breaks: number; last: number }>();
    for (const chunk of chunksOf(await log.bytes(start, place.offset), start)) {
      const breaks = chunk.bytes.at(-1) === LINE_BREAK ? 0 : 1;
      drop.set(keyOf(chunk), { breaks, last: chunk.offset });
    }
    return new FromPlace(place, end, drop);
  }

  cut(chunk: PlacedChunk): PlacedChunk {
    const { bytes, offset } = chunk;
    if (offset >= this.#end) return chunk;
    const drop = this.#drop.get(keyOf(chunk)) ?? { breaks: 0, last: offset };
    this.#drop.set(keyOf(chunk), drop);
    if (!reaches(drop.last, chunk)) drop.breaks = 0;
    if (offset === this.#place.offset) drop.breaks = this.#place.n;
    drop.last = offset;
    let at = 0;
    for (; drop.breaks > 0 && at < bytes.length; drop.breaks--) {
      const end = bytes.indexOf(LINE_BREAK, at);
      if (end === -1) return { ...chunk, bytes: bytes.subarray(bytes.length) };
      at = end + 1;
    }
    return at === 0 ? chunk : { ...chunk, bytes: bytes.subarray(at) };
  }
}

function beginning(first: PlacedChunk, n: number): UnfinishedLine {
  const begun = { length: 0, cut: 0, last: first.offset, isNew: true, isOther: false };
  return { ...begun, first, n, parts: [] };
}

function toLine({ first, n, parts, cut }: UnfinishedLine, ended: boolean): LogLine {
  const { offset, at, step, stream } = first;
  const [only] = parts;
  const bytes = parts.length === 1 && only !== undefined ? only : concatBytes(...parts);
  return { offset, n, at, step, stream, bytes, cut, ended };
}

function reaches(last: number, { offset }: PlacedChunk): boolean {
  return offset - last <= REACH_BYTES;
}

function countBreaks(bytes: Uint8Array): number {
  let breaks = 0;
  for (let at = -1; (at = bytes.indexOf(LINE_BREAK, at + 1)) !== -1;) breaks++;
  return breaks;
}

function keyOf({ step, stream }: PlacedChunk): string {
  return `${step}\n${stream}`;
}
