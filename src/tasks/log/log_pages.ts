/**
 * Reads the lines of a log page by page, backwards from any place or forwards and on as it grows.
 * The cost of a page depends on its own size, not on the size of the log.
 *
 * @module
 */

import type { StoredLog } from "../../store/log_store.ts";
import type { LogStream } from "./log_format.ts";
import { Before, LineAssembly, type LinePlace, type LogLine } from "./log_lines.ts";
import { chunksOf, LogReader, type PlacedChunk } from "./log_reader.ts";

/** Leaves some lines of a log; all of them when it is empty. */
export interface LogFilter {
  /** Leaves the lines of this step. */
  readonly step?: string | undefined;
  /** Leaves the lines of this stream; when absent, those of all but `raw`. */
  readonly stream?: LogStream | undefined;
  /** Leaves the lines that contain this text, in upper or lower case. */
  readonly contains?: string | undefined;
  /** Leaves only lines of this time or later, in milliseconds since the epoch. */
  readonly since?: number | undefined;
}

/** Limits of a page. */
export interface PageLimits {
  /** Number of lines; a chunk that has more of them is not divided. */
  readonly lines: number;
  /** Bytes of the log that are looked at, however few lines are found in them. */
  readonly lookedAt: number;
  /** Longest line, in bytes. */
  readonly lineBytes: number;
}

/** Lines, and the part of the log in which they begin. */
export interface LogPage {
  /** In the order in which they begin. */
  readonly lines: readonly LogLine[];
  /** First byte of the part; to read on backwards from here. */
  readonly start: number;
  /** End of the part; to read on forwards from here. */
  readonly end: number;
  /** Bytes of the log. */
  readonly size: number;
  /** Whether the log ends with the part, except for a chunk that is being written. */
  readonly atEnd: boolean;
}

/** The last lines that begin before `before`, or the last of all. */
export async function readBackwards(
  stored: StoredLog,
  { before, filter, limits }: {
    readonly before?: number | undefined;
    readonly filter: LogFilter;
    readonly limits: PageLimits;
  },
): Promise<LogPage> {
  using log = await LogReader.open(stored);
  if (log === undefined) return NO_LOG;
  const end = await log.lineUpTo(before ?? log.end);
  const select = selection(filter);
  let [start, lookedAt] = [end, 0];
  let parts: LogLine[][] = [];
  let count = 0;
  while (start > 0 && count < limits.lines && lookedAt < limits.lookedAt) {
    const from = await log.blockBefore(start);
    const part = { start: from, end: start, lineBytes: limits.lineBytes };
    const { lines, oldest } = await linesOf(log, part, select);
    parts.push(lines);
    count += lines.length;
    lookedAt += start - from;
    start = from;
    if (filter.since !== undefined && oldest < filter.since) break;
  }
  let lines = parts.toReversed().flat();
  parts = [];
  const first = lines[lines.length - limits.lines];
  if (count > limits.lines && first !== undefined) {
    start = first.offset;
    lines = lines.slice(lines.findIndex((line) => line.offset === start));
  }
  return { lines, start, end, size: log.size, atEnd: end === log.end };
}

/**
 * The beginning of the last lines, an unfinished one included: at most `lines` lines with at most
 * `bytes` bytes together. Holds one block of the log at a time.
 */
export async function findTail(
  stored: StoredLog,
  filter: LogFilter,
  most: Pick<PageLimits, "lines" | "lineBytes"> & { readonly bytes: number },
): Promise<{ readonly place: LinePlace; readonly end: number }> {
  using log = await LogReader.open(stored);
  if (log === undefined) return { place: { offset: 0, n: 0 }, end: 0 };
  const select = selection(filter);
  // What a line says matters only where a text is looked for.
  const lineBytes = filter.contains === undefined ? 0 : most.lineBytes;
  let place: LinePlace = { offset: log.end, n: 0 };
  let [lines, bytes] = [0, 0];
  for (let end = log.end; end > 0 && lines < most.lines;) {
    const part = { start: await log.blockBefore(end), end, lineBytes };
    const { lines: found, oldest } = await linesOf(log, part, select);
    for (const line of found.toReversed()) {
      bytes += line.bytes.length + line.cut;
      if (lines === most.lines || bytes > most.bytes) return { place, end: log.end };
      lines++;
      place = { offset: line.offset, n: line.n };
    }
    if (filter.since !== undefined && oldest < filter.since) break;
    end = part.start;
  }
  return { place, end: log.end };
}

/** The lines that begin in one part of the log, and when the first chunk of it came. */
async function linesOf(
  log: LogReader,
  part: { readonly start: number; readonly end: number; readonly lineBytes: number },
  { isWantedChunk, isWantedLine }: Selection,
): Promise<{ lines: LogLine[]; oldest: number }> {
  const before = await Before.read(log, part.start);
  const assembly = new LineAssembly({ before, maxLineBytes: part.lineBytes, withBegun: false });
  const lines: LogLine[] = [];
  let oldest: number | undefined;
  for (let at = part.start; at < part.end;) {
    const { chunks, next } = await log.read(at, part.end);
    oldest ??= chunks[0]?.at;
    for (const chunk of chunks) if (isWantedChunk(chunk)) lines.push(...assembly.push(chunk));
    if (next === at) break;
    at = next;
  }
  for (let at = part.end; at < Math.min(log.end, assembly.reach(), part.end + AHEAD_BYTES);) {
    const { chunks, next } = await readSome(log, at);
    for (const chunk of chunks) {
      if (chunk.offset > assembly.reach()) break;
      const line = isWantedChunk(chunk) ? assembly.finish(chunk) : undefined;
      if (line !== undefined) lines.push(line);
    }
    at = next;
  }
  lines.push(...assembly.open());
  lines.sort(inOrder);
  return { lines: lines.filter(isWantedLine), oldest: oldest ?? Infinity };
}

/** The chunks of a small part of the log, decoded only as they are read. */
async function readSome(log: LogReader, at: number) {
  const end = await log.lineFrom(at + SOME_BYTES);
  return { chunks: chunksOf(await log.bytes(at, end), at), next: end };
}

/** How far behind a part the end of an unfinished line is searched, in bytes of the log. */
const AHEAD_BYTES = 1024 * 1024;
const SOME_BYTES = 32 * 1024;

/** The beginning of a reading: after a byte, or with the first line of a time. */
type LogStart = { readonly after: number } | { readonly at: number };

/**
 * Reads forwards, and on as the log grows: either its lines, or its chunks as they were printed. A
 * line that has no line break yet is given as it is, and again, under the same offset and number,
 * when it has gone on.
 */
export class LogFollower {
  readonly #stored: StoredLog;
  readonly #select: Selection;
  readonly #lineBytes: number;
  #from: { readonly time: number } | { readonly offset: number };
  #assembly: LineAssembly | undefined;

  constructor(
    stored: StoredLog,
    { filter, lineBytes, ...from }:
      & { readonly filter: LogFilter; readonly lineBytes: number }
      & LogStart,
  ) {
    this.#stored = stored;
    this.#select = selection(filter);
    this.#lineBytes = lineBytes;
    this.#from = "at" in from ? { time: from.at } : { offset: from.after };
  }

  /** The next lines; none when nothing has come since the last read. */
  async read(limits: Omit<PageLimits, "lineBytes">): Promise<LogPage> {
    using log = await LogReader.open(this.#stored);
    if (log === undefined) return NO_LOG;
    const { assembly, at } = await this.#begin(log, await this.#start(log));
    const { isWantedChunk, isWantedLine } = this.#select;
    const lines: LogLine[] = [];
    let end = at;
    reading: while (lines.length < limits.lines && end - at < limits.lookedAt) {
      const { chunks, next } = await log.read(end);
      for (const [index, chunk] of chunks.entries()) {
        if (isWantedChunk(chunk)) lines.push(...assembly.push(chunk).filter(isWantedLine));
        if (lines.length < limits.lines) continue;
        end = chunks[index + 1]?.offset ?? next;
        break reading;
      }
      if (next === end) break;
      end = next;
    }
    this.#from = { offset: end };
    lines.push(...assembly.open().filter(isWantedLine));
    lines.sort(inOrder);
    return { lines, start: at, end, size: log.size, atEnd: end === log.end };
  }

  /** The next chunks, of one block of the log; none when nothing has come since the last read. */
  async readChunks(): Promise<{ readonly chunks: PlacedChunk[]; readonly atEnd: boolean }> {
    using log = await LogReader.open(this.#stored);
    if (log === undefined) return { chunks: [], atEnd: true };
    const { chunks, next } = await log.read(await this.#start(log));
    this.#from = { offset: next };
    return { chunks: chunks.filter(this.#select.isWantedChunk), atEnd: next === log.end };
  }

  async #start(log: LogReader): Promise<number> {
    return "time" in this.#from ? await log.findFrom(this.#from.time) : this.#from.offset;
  }

  /**
   * The unfinished lines at an offset. An offset within a stored line counts as the end of that
   * line.
   */
  async #begin(log: LogReader, offset: number): Promise<{ assembly: LineAssembly; at: number }> {
    if (this.#assembly !== undefined) return { assembly: this.#assembly, at: offset };
    const at = await log.lineFrom(offset);
    const before = await Before.read(log, at);
    // A reader that asks for a time has not seen what began before it.
    const withBegun = "offset" in this.#from;
    const options = { before, maxLineBytes: this.#lineBytes, withBegun };
    return { assembly: this.#assembly = new LineAssembly(options), at };
  }
}

interface Selection {
  readonly isWantedChunk: (chunk: PlacedChunk) => boolean;
  readonly isWantedLine: (line: LogLine) => boolean;
}

function selection({ step, stream, contains, since = -Infinity }: LogFilter): Selection {
  const needle = contains?.toLowerCase();
  return {
    isWantedChunk: (chunk) =>
      chunk.at >= since && (step === undefined || chunk.step === step) &&
      (stream === undefined ? chunk.stream !== "raw" : chunk.stream === stream),
    isWantedLine: ({ bytes }) =>
      needle === undefined || new TextDecoder().decode(bytes).toLowerCase().includes(needle),
  };
}

function inOrder(a: LogLine, b: LogLine): number {
  return a.offset - b.offset || a.n - b.n;
}

const NO_LOG: LogPage = { lines: [], start: 0, end: 0, size: 0, atEnd: true };
