/**
 * The part of a log that the page holds: consecutive lines of the file, which may be of any length.
 * More lines are read at either end, and lines far away are dropped.
 *
 * @module
 */

import type { LogPageView, LogText } from "../../../../src/api/task_operations.ts";

/** A part of a log to read. */
export interface LogRange {
  readonly before?: number;
  readonly after?: number;
  readonly limit: number;
  readonly contains?: string;
  /** Reads only lines of this stream. */
  readonly stream?: LogText["stream"];
  /** Reads only lines of this step, instead of the chosen one. */
  readonly step?: string;
}

/** Reads lines of the chosen step, or of all steps if there is none. */
export type ReadLog = (range: LogRange) => Promise<LogPageView>;

/** Limits of a window. */
export interface WindowLimits {
  readonly lines: number;
  /** Characters of all lines. */
  readonly characters: number;
  /** Lines of a read. */
  readonly page: number;
}

/** The name of a line in an address: its byte, and its number within a piece of output. */
export function lineName({ offset, n }: Pick<LogText, "offset" | "n">): string {
  return `${offset}.${n}`;
}

/** A window of consecutive lines of a log. */
export class LogWindow {
  readonly #read: ReadLog;
  readonly #limits: WindowLimits;
  /** In the order of the file. */
  lines: readonly LogText[] = [];
  /** The part of the file that the lines cover, in bytes. */
  start = 0;
  end = 0;
  /** Known length of the file in bytes. */
  size = 0;
  atStart = true;
  atEnd = true;
  /**
   * Counts replacements of all lines: the answer to a read that began before the last one is
   * ignored.
   */
  #generation = 0;

  /** Makes an empty window. */
  constructor(read: ReadLog, limits: WindowLimits) {
    this.#read = read;
    this.#limits = limits;
  }

  /** Replaces the lines by the first ones. */
  async toStart(): Promise<void> {
    await this.#replace([{ after: 0 }]);
  }

  /** Replaces the lines by the last ones. */
  async toEnd(): Promise<void> {
    await this.#replace([{}]);
  }

  /** Replaces the lines by those on both sides of a byte of the file. */
  async around(offset: number): Promise<void> {
    // Up to the first piece of output of the second part: the byte may be within a piece.
    await this.#replace([{ after: offset }, ({ start }) => ({ before: start })]);
  }

  /** Reads on before the first line. */
  async extendUp(): Promise<void> {
    if (this.atStart) return;
    const own = this.#generation;
    const page = await this.#read({ before: this.start, limit: this.#limits.page });
    if (own !== this.#generation || page.end !== this.start) return;
    this.lines = [...page.lines, ...this.lines];
    [this.start, this.atStart, this.size] = [page.start, page.at_start, page.size];
    this.#trimEnd();
  }

  /** Reads on after the last line, also lines that were written meanwhile. */
  async extendDown(): Promise<void> {
    const own = this.#generation;
    const page = await this.#read({ after: this.end, limit: this.#limits.page });
    if (own !== this.#generation || page.start !== this.end) return;
    this.#append(page);
  }

  /** Whether more lines at the end would push out lines at the start. */
  get isFull(): boolean {
    return this.lines.length + this.#limits.page > this.#limits.lines;
  }

  /**
   * Marks that the file goes on after the last line: the next lines are read on scrolling there.
   */
  leaveEnd(): void {
    this.atEnd = false;
  }

  /**
   * Adds all lines from byte `from` to byte `end`; returns `false` if they do not follow the held
   * lines.
   */
  hear(
    { lines, from, end }: {
      readonly lines: readonly LogText[];
      readonly from: number;
      readonly end: number;
    },
  ): boolean {
    if (!this.atEnd || from > this.end) return false;
    if (end <= this.end) return true;
    this.#append({ lines, end, size: Math.max(this.size, end), at_end: true });
    return true;
  }

  /** Adds lines after the last one; a last line that has grown is replaced. */
  #append(page: Pick<LogPageView, "lines" | "end" | "size" | "at_end">): void {
    const again = new Map<string, LogText>();
    const fresh: LogText[] = [];
    for (const line of page.lines) {
      if (line.offset < this.end) again.set(lineName(line), line);
      else fresh.push(line);
    }
    const kept = again.size === 0
      ? this.lines
      : this.lines.map((line) => again.get(lineName(line)) ?? line);
    this.lines = [...kept, ...fresh];
    [this.end, this.atEnd, this.size] = [page.end, page.at_end, page.size];
    this.#trimStart();
  }

  async #replace(
    [range, before]: readonly [
      Omit<LogRange, "limit">,
      ((page: LogPageView) => Omit<LogRange, "limit">)?,
    ],
  ): Promise<void> {
    const own = ++this.#generation;
    const limit = this.#limits.page;
    const page = await this.#read({ limit, ...range });
    const first = before && await this.#read({ limit, ...before(page) });
    if (own !== this.#generation) return;
    // A line across the byte is in both parts.
    this.lines = first === undefined
      ? page.lines
      : [...first.lines, ...page.lines.filter(({ offset }) => offset >= page.start)];
    const { start, at_start: atStart } = first ?? page;
    [this.start, this.atStart] = [start, atStart];
    [this.end, this.atEnd, this.size] = [page.end, page.at_end, page.size];
  }

  /** Drops the first lines, in whole pieces of output. */
  #trimStart(): void {
    const over = this.#over(this.lines);
    if (over === 0) return;
    const first = beginsPiece(this.lines, over);
    const line = this.lines[first];
    if (line === undefined) return;
    this.lines = this.lines.slice(first);
    [this.start, this.atStart] = [line.offset, false];
  }

  #trimEnd(): void {
    const over = this.#over(this.lines.toReversed());
    if (over === 0) return;
    let last = this.lines.length - over;
    while (last > 0 && this.lines[last]?.offset === this.lines[last - 1]?.offset) last--;
    const line = this.lines[last];
    if (line === undefined || last === 0) return;
    this.lines = this.lines.slice(0, last);
    [this.end, this.atEnd] = [line.offset, false];
  }

  /** Number of lines over the limits, counted from the first. */
  #over(lines: readonly LogText[]): number {
    let over = Math.max(0, lines.length - this.#limits.lines);
    let characters = 0;
    for (let index = lines.length - 1; index >= over; index--) {
      characters += lines[index]?.text.length ?? 0;
      if (characters > this.#limits.characters) over = index + 1;
    }
    return over;
  }
}

/** The index, at or after `index`, of the first line of a piece of output. */
function beginsPiece(lines: readonly LogText[], index: number): number {
  let first = index;
  while (first < lines.length && lines[first]?.offset === lines[first - 1]?.offset) first++;
  return first;
}
