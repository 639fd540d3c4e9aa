/**
 * The part of a log that the page holds: lines that follow each other in the file, however long it
 * is. More lines are read at either end, and those far away are dropped.
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
  /** Leaves the lines of this stream. */
  readonly stream?: LogText["stream"];
  /** Leaves the lines of this step, instead of the chosen one. */
  readonly step?: string;
}

/** Reads lines; those of the chosen step, if there is one. */
export type ReadLog = (range: LogRange) => Promise<LogPageView>;

/** Limits of what is held. */
export interface WindowLimits {
  readonly lines: number;
  /** Characters of all of them. */
  readonly characters: number;
  /** Lines that are read at once. */
  readonly page: number;
}

/** What a line is named by. */
export function lineName({ offset, n }: Pick<LogText, "offset" | "n">): string {
  return `${offset}.${n}`;
}

/** Lines of a log that follow each other. */
export class LogWindow {
  readonly #read: ReadLog;
  readonly #limits: WindowLimits;
  /** In the order of the file. */
  lines: readonly LogText[] = [];
  /** Part of the file that the lines are of. */
  start = 0;
  end = 0;
  /** Bytes of the file, as far as it is known. */
  size = 0;
  atStart = true;
  atEnd = true;
  /** Counts replacements of all lines: an answer that was asked for before one is out of date. */
  #generation = 0;

  /** Holds nothing yet. */
  constructor(read: ReadLog, limits: WindowLimits) {
    this.#read = read;
    this.#limits = limits;
  }

  /** Holds the first lines. */
  async toStart(): Promise<void> {
    await this.#replace([{ after: 0 }]);
  }

  /** Holds the last lines. */
  async toEnd(): Promise<void> {
    await this.#replace([{}]);
  }

  /** Holds the lines on both sides of a place in the file. */
  async around(offset: number): Promise<void> {
    // Before the piece of output with which the other part begins: the place may be within one.
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

  /** Reads on after the last line; also what has been written meanwhile. */
  async extendDown(): Promise<void> {
    const own = this.#generation;
    const page = await this.#read({ after: this.end, limit: this.#limits.page });
    if (own !== this.#generation || page.start !== this.end) return;
    this.#append(page);
  }

  /** Whether more lines at the end would take some away at the start. */
  get isFull(): boolean {
    return this.lines.length + this.#limits.page > this.#limits.lines;
  }

  /** Stops taking new lines: they are read when the reader scrolls there. */
  leaveEnd(): void {
    this.atEnd = false;
  }

  /**
   * Takes all lines from byte `from` to byte `end`; returns `false` if they do not follow the held
   * ones.
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

  /** Adds the lines after the last one, which comes again if it has grown. */
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
    // A line that goes on after the place is in the part before it, too.
    this.lines = first === undefined
      ? page.lines
      : [...first.lines, ...page.lines.filter(({ offset }) => offset >= page.start)];
    const { start, at_start: atStart } = first ?? page;
    [this.start, this.atStart] = [start, atStart];
    [this.end, this.atEnd, this.size] = [page.end, page.at_end, page.size];
  }

  /** Drops the first lines, whole pieces of output only. */
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

/** The first line from `index` on that is the first of its piece of output. */
function beginsPiece(lines: readonly LogText[], index: number): number {
  let first = index;
  while (first < lines.length && lines[first]?.offset === lines[first - 1]?.offset) first++;
  return first;
}
