/**
 * Searches a log: first the held lines, then the rest of the file in limited portions.
 *
 * @module
 */

import type { LogPageView, LogText } from "../../../../src/api/task_operations.ts";
import { lineName, type LogRange, type LogWindow, type ReadLog } from "./window.ts";

/** The conditions on the lines of a search. */
export type LineFilter = Pick<LogRange, "contains" | "stream" | "step">;

/** The start and the direction of a search. */
export interface Way {
  /** The byte of the file to start from. */
  readonly from: number;
  readonly back: boolean;
  /** Called with the progress in bytes. */
  readonly progress: (at: number) => void;
  readonly signal: AbortSignal;
}

/** The first match after a byte of the file, or with `back` the last match before it. */
export async function findInFile(
  read: ReadLog,
  filter: LineFilter,
  { from, back, progress, signal }: Way,
): Promise<LogText | undefined> {
  for (let at = from; !signal.aborted;) {
    const page: LogPageView = await read(
      { limit: 1, ...filter, ...(back ? { before: at } : { after: at }) },
    );
    // A page may begin with a line that starts before the byte.
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
  /** Whether the search continued at the other end of the log. */
  readonly around: boolean;
}

/**
 * The next line with a text after a held line, or with `back` the previous one; the search
 * continues at the other end of the log.
 */
export async function findText(
  window: LogWindow,
  read: ReadLog,
  { text, current, back, ...way }: Omit<Way, "from"> & {
    readonly text: string;
    /** Name of the line before the search; this line is not a match itself. */
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

/** Whether a line contains a text, ignoring case, by the same rule as the daemon's. */
export function hasText({ text }: Pick<LogText, "text">, wanted: string): boolean {
  return text.toLowerCase().includes(wanted.toLowerCase());
}
