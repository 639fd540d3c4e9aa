/**
 * Reads the log of a task from any offset: forwards, backwards, or from a time on. However long the
 * log is, a read takes one block. An incomplete line at its end is left for a later read.
 *
 * @module
 */

import type { OpenLog, StoredLog } from "../../store/log_store.ts";
import { findChunk, findTime, LINE_BREAK, type LogChunk } from "./log_format.ts";

/** A chunk and its offset. */
export interface PlacedChunk extends LogChunk {
  /** First byte of its line in the log. */
  readonly offset: number;
}

/** Bytes of one read; more only where a single line is longer. */
export const BLOCK_BYTES = 256 * 1024;
/** Bytes of a read that looks for one line break only. */
const GLANCE_BYTES = 4 * 1024;

/**
 * A log as it was when it was opened. Offsets that it takes and gives are where lines begin, unless
 * said otherwise.
 */
export class LogReader implements Disposable {
  readonly #log: OpenLog;
  /** The end of its last whole line. */
  end: number;

  private constructor(log: OpenLog) {
    this.#log = log;
    this.end = log.size;
  }

  /** Opens a log; `undefined` as long as nothing was written to it. */
  static async open(stored: StoredLog): Promise<LogReader | undefined> {
    const log = await stored.open();
    if (log === undefined) return undefined;
    const reader = new LogReader(log);
    reader.end = await reader.lineUpTo(log.size);
    return reader;
  }

  get size(): number {
    return this.#log.size;
  }

  [Symbol.dispose](): void {
    this.#log[Symbol.dispose]();
  }

  /**
   * The chunks of one block from `start` on, at least one if there is one before `end`, and the
   * offset to read on from: `start` itself when no line is complete yet.
   */
  async read(
    start: number,
    end = this.end,
  ): Promise<{ readonly chunks: PlacedChunk[]; readonly next: number }> {
    for (let length = BLOCK_BYTES;; length *= 2) {
      const bytes = await this.bytes(start, Math.min(end, start + length));
      const next = start + bytes.lastIndexOf(LINE_BREAK) + 1;
      if (next > start || start + length >= end) {
        return { chunks: [...chunksOf(bytes, start)], next };
      }
    }
  }

  /** The first offset from `offset` on where a line begins, or the next one will. */
  async lineFrom(offset: number): Promise<number> {
    if (offset <= 0) return 0;
    let start = offset - 1; // the line break before it
    for (let length = GLANCE_BYTES; start < this.end; length = BLOCK_BYTES) {
      const bytes = await this.bytes(start, Math.min(this.end, start + length));
      const at = bytes.indexOf(LINE_BREAK);
      if (at !== -1) return start + at + 1;
      start += length;
    }
    return this.end;
  }

  /** The last offset up to `offset` where a line begins. */
  async lineUpTo(offset: number): Promise<number> {
    let end = Math.min(offset, this.size);
    while (end > 0) {
      const start = Math.max(0, end - GLANCE_BYTES);
      const at = (await this.bytes(start, end)).lastIndexOf(LINE_BREAK);
      if (at !== -1) return start + at + 1;
      end = start;
    }
    return 0;
  }

  /**
   * The start of a block before `end` that has at least one line; 0 at the beginning of the log.
   */
  async blockBefore(end: number): Promise<number> {
    for (let length = BLOCK_BYTES;; length *= 2) {
      if (length >= end) return 0;
      const start = await this.lineFrom(end - length);
      if (start < end) return start;
    }
  }

  /** The first chunk that came at `at` or later, as far as the clock never went back. */
  async findFrom(at: number): Promise<number> {
    let found = this.end;
    for (let low = 0, high = this.end; low < high;) {
      const middle = low + Math.floor((high - low) / 2);
      const line = await this.lineFrom(middle);
      if (line >= found) {
        high = middle;
        continue;
      }
      const beginning = await this.bytes(line, Math.min(this.end, line + 40));
      const time = findTime(new TextDecoder().decode(beginning));
      if (time !== undefined && time >= at) [found, high] = [line, middle];
      else low = line + 1;
    }
    return found;
  }

  /** When the last chunk came; `undefined` where there is none. */
  async lastTime(): Promise<number | undefined> {
    const line = await this.lineUpTo(this.end - 1);
    return findTime(
      new TextDecoder().decode(await this.bytes(line, Math.min(this.end, line + 40))),
    );
  }

  bytes(start: number, end: number): Promise<Uint8Array> {
    return this.#log.read(start, end);
  }
}

/** The chunks of whole lines in `bytes`, which begin at `offset`; none for one that was cut off. */
export function* chunksOf(bytes: Uint8Array, offset: number): Generator<PlacedChunk> {
  const decoder = new TextDecoder();
  for (let at = 0, end; (end = bytes.indexOf(LINE_BREAK, at)) !== -1; at = end + 1) {
    const chunk = findChunk(decoder.decode(bytes.subarray(at, end)));
    if (chunk !== undefined) yield { offset: offset + at, ...chunk };
  }
}

/** The chunks of whole lines in `bytes`, the last one first. */
export function* chunksBackwards(bytes: Uint8Array, offset: number): Generator<PlacedChunk> {
  const decoder = new TextDecoder();
  for (let end = bytes.lastIndexOf(LINE_BREAK); end > 0;) {
    const before = bytes.lastIndexOf(LINE_BREAK, end - 1);
    const chunk = findChunk(decoder.decode(bytes.subarray(before + 1, end)));
    if (chunk !== undefined) yield { offset: offset + before + 1, ...chunk };
    end = before;
  }
}

/** When a log was last written to; `undefined` for an empty one. */
export async function lastWrittenAt(stored: StoredLog): Promise<number | undefined> {
  using log = await LogReader.open(stored);
  return await log?.lastTime();
}
