/**
 * Looks for lines in a log: first in what is held, then in the rest of the file, in portions that
 * the daemon can bear.
 *
 * @module
 */

import type { LogPageView, LogText } from "../../../../src/api/task_operations.ts";
import { lineName, type LogRange, type LogWindow, type ReadLog } from "./window.ts";

/** Leaves the lines that a search looks for. */
export type LineFilter = Pick<LogRange, "contains" | "stream" | "step">;

/** Where to look from, and which way. */
export interface Way {
  /** Byte of the file. */
  readonly from: number;
  readonly back: boolean;
  /** How far it is, in bytes. */
  readonly progress: (at: number) => void;
  readonly signal: AbortSignal;
}

/** The first line of the file after a place, or the last one before it. */
export async function findInFile(
  read: ReadLog,
  filter: LineFilter,
  { from, back, progress, signal }: Way,
): Promise<LogText | undefined> {
  for (let at = from; !signal.aborted;) {
    const page: LogPageView = await read(
      { limit: 1, ...filter, ...(back ? { before: at } : { after: at }) },
    );
    // A line that began before the place is given when it goes on after it.
    const found = back
      ? page.lines.findLast(({ offset }) => offset < at)
      : page.lines.find(({ offset }) => offset >= at);
    if (found !== undefined) return found;
    if (back ? page.at_start : page.at_end) return undefined;
    at = back ? page.start : page.end;
    progress(at);
  }
  return undefined;
}

/** The result of a search. */
export interface Match {
  readonly line: LogText;
  /** Whether the search went on at the other end of the log. */
  readonly around: boolean;
}

/**
 * The next line with a text after a held line, or with `back` the previous one; the search goes on
 * at the other end of the log.
 */
export async function findText(
  window: LogWindow,
  read: ReadLog,
  { text, current, back, ...way }: Omit<Way, "from"> & {
    readonly text: string;
    /** Name of the line from which the search begins, which is not a match itself. */
    readonly current: string;
  },
): Promise<Match | undefined> {
  const { lines } = window;
  const at = lines.findIndex((line) => lineName(line) === current);
  const held = back
    ? lines.slice(0, at === -1 ? lines.length : at).findLast((line) => hasText(line, text))
    : lines.slice(at + 1).find((line) => hasText(line, text));
  if (held !== undefined) return { line: held, around: false };
  const wanted = { contains: text };
  const on = await findInFile(read, wanted, {
    ...way,
    back,
    from: back ? window.start : window.end,
  });
  if (on !== undefined) return { line: on, around: false };
  const from = back ? Number.MAX_SAFE_INTEGER : 0;
  const line = await findInFile(read, wanted, { ...way, back, from });
  return line === undefined ? undefined : { line, around: true };
}

/** Whether a line has a text, in any case; as the daemon decides it. */
export function hasText({ text }: Pick<LogText, "text">, wanted: string): boolean {
  return text.toLowerCase().includes(wanted.toLowerCase());
}
