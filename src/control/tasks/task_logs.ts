/**
 * `task logs`: the output of a task as it was printed, read as the run writes it; with
 * `follow` until the task has ended, with `tail` from its last lines on, with `contains` only the
 * lines that have a text.
 *
 * @module
 */

import type { Input } from "../../api/operations.ts";
import type { LogEnd, LogEntry } from "../../api/task_operations.ts";
import { concatBytes, toBase64 } from "../../base/bytes.ts";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import { AppError } from "../../base/errors.ts";
import type { Events } from "../../store/events.ts";
import type { LogStore, StoredLog } from "../../store/log_store.ts";
import type { TaskStore } from "../../store/task_store.ts";
import type { Task } from "../../store/task_records.ts";
import { LINE_BREAK, type LogChunk } from "../../tasks/log/log_format.ts";
import type { LogLine } from "../../tasks/log/log_lines.ts";
import { LogFollower, readBackwards, type WantedLines } from "../../tasks/log/log_pages.ts";
import { LogReader, readLog } from "../../tasks/log/log_reader.ts";
import { type Changed, Changes } from "../records/changes.ts";
import { findTask } from "../records/records.ts";

/** Shortest time between two reads of a followed log. */
const SPACING_MS = 100;
/** Longest time between two reads of a followed log. */
export const POLL_INTERVAL_MS = 15_000;
/** Most bytes of last lines, however many lines were asked for. */
const MAX_TAIL_BYTES = 16 * 1024 * 1024;
/** Lines, and bytes of the log, of one step of a search. */
const [PAGE_LINES, PAGE_BYTES] = [10_000, 1024 * 1024];

/** What {@linkcode taskLogs} needs. */
export interface LogsHost {
  readonly store: TaskStore;
  /** Announces new output and changes of the task. */
  readonly events: Events;
  readonly logs: LogStore;
  readonly clock: Clock;
}

/**
 * The output of a task, then one last line with its state.
 *
 * @throws {AppError} `not_found` when there is no such task, `usage` when it has no such step.
 */
export async function* taskLogs(
  input: Input<"task.logs">,
  host: LogsHost,
  signal: AbortSignal,
): AsyncGenerator<LogEntry | LogEnd> {
  const found = await findTask(input.id, host.store);
  checkStep(input.step, found);
  using changes = logChanges(found.id, host);
  const log = host.logs.of(found.id);
  const wanted = wantedOf(input, host.clock.now());
  let from: From = wanted.since === undefined ? { after: 0 } : { at: wanted.since };
  let begun: readonly LogLine[] = [];
  if (input.tail !== undefined) {
    const { lines, end } = await lastLines(log, input.tail, wanted);
    from = { after: end };
    // A line that is looked for is given once, when it is whole.
    begun = input.contains === undefined ? [] : lines.filter((line) => !line.ended);
    for (const line of lines) if (!begun.includes(line)) yield toEntry(whole(line));
  }
  const output = input.contains === undefined
    ? new Chunks(log, wanted, from)
    : new MatchingLines(log, wanted, { from, begun });
  let task = found;
  for (let changed: Changed = "any"; !signal.aborted;) {
    // Asked before the log is read: what was written before the end is in it.
    const mayHaveEnded = typeof changed === "string" || changed.has(found.id);
    if (mayHaveEnded) task = await findTask(found.id, host.store);
    const over = task.finishedAt !== undefined || !input.follow;
    yield* output.read(over);
    if (over) return yield { state: task.state, reason: task.reason };
    changed = await changes.next(POLL_INTERVAL_MS, signal);
  }
}

/** Where reading begins: after a byte, or with what came at a time. */
type From = { readonly after: number } | { readonly at: number };

/** The output as it was printed, read on and on. */
class Chunks {
  readonly #log: StoredLog;
  readonly #wanted: WantedLines;
  #from: From;

  constructor(log: StoredLog, wanted: WantedLines, from: From) {
    this.#log = log;
    this.#wanted = wanted;
    this.#from = from;
  }

  /** What has come since the last read. */
  async *read(): AsyncGenerator<LogEntry> {
    const { step, since = -Infinity } = this.#wanted;
    let offset = "after" in this.#from ? this.#from.after : await findFrom(this.#log, since);
    for (;;) {
      const { chunks, next } = await readLog(this.#log, offset);
      for (const chunk of chunks) {
        if (chunk.at < since || step !== undefined && chunk.step !== step) continue;
        yield toEntry(chunk);
      }
      if (next === offset) break;
      offset = next;
    }
    this.#from = { after: offset };
  }
}

/** The lines of the output that are looked for, read on and on. */
class MatchingLines {
  readonly #follower: LogFollower;
  /** Lines without a line break so far, by what names them. */
  readonly #begun = new Map<string, LogLine>();

  constructor(
    log: StoredLog,
    wanted: WantedLines,
    { from, begun }: { readonly from: From; readonly begun: readonly LogLine[] },
  ) {
    this.#follower = new LogFollower(log, { wanted, lineBytes: MAX_TAIL_BYTES, ...from });
    for (const line of begun) this.#begun.set(nameOf(line), line);
  }

  /** What has come since the last read; lines without a line break only when nothing follows. */
  async *read(over: boolean): AsyncGenerator<LogEntry> {
    for (let atEnd = false; !atEnd;) {
      const page = await this.#follower.read({ lines: PAGE_LINES, lookedAt: PAGE_BYTES });
      for (const line of page.lines) {
        if (line.ended) {
          this.#begun.delete(nameOf(line));
          yield toEntry(whole(line));
        } else {
          this.#begun.set(nameOf(line), line);
        }
      }
      atEnd = page.atEnd;
    }
    if (over) { for (const line of this.#begun.values()) yield toEntry(line); }
  }
}

function nameOf({ offset, n }: LogLine): string {
  return `${offset}/${n}`;
}

/** The place in a log of what came at `at` or later. */
async function findFrom(stored: StoredLog, at: number): Promise<number> {
  using log = await LogReader.open(stored);
  return await log?.findFrom(at) ?? 0;
}

/** Changes of the task and of its log; new output alone is no reason to read the task. */
export function logChanges(id: string, { events, clock }: LogsHost): Changes {
  const spacingMs = SPACING_MS;
  const isWanted = (changed: string) => changed === id;
  const changes = Changes.ofRecords({ events, record: "task", spacingMs, clock, isWanted });
  changes.subscribe(events.on("logWritten", ({ taskId }) => {
    if (taskId === undefined || taskId === id) changes.add("log");
  }));
  return changes;
}

/**
 * Refuses a step that a task has not.
 *
 * @throws {AppError} `usage`.
 */
export function checkStep(step: string | undefined, { id, steps }: Task): void {
  if (step === undefined || steps.length === 0 || steps.some((one) => one.id === step)) return;
  const known = steps.map((one) => one.id).join(", ");
  throw new AppError("usage", `Task ${id} has no step "${step}": its steps are ${known}`);
}

function wantedOf(
  { step, since_secs: sinceSecs, contains }: Input<"task.logs">,
  now: number,
): WantedLines {
  return { step, contains, since: sinceSecs === undefined ? undefined : now - sinceSecs * 1000 };
}

function toEntry({ at, step, stream, bytes }: LogChunk): LogEntry {
  return { at: rfc3339(at), step, stream, data: toBase64(bytes) };
}

/** A line as it was printed. */
function whole(line: LogLine): LogChunk {
  if (!line.ended) return line;
  return { ...line, bytes: concatBytes(line.bytes, new Uint8Array([LINE_BREAK])) };
}

/** The last `tail` lines so far, an unfinished one included, and the position after them. */
async function lastLines(
  log: StoredLog,
  tail: number,
  wanted: WantedLines,
): Promise<{ lines: readonly LogLine[]; end: number }> {
  const limits = { lines: tail, lookedAt: Infinity, lineBytes: MAX_TAIL_BYTES };
  const { lines, end } = await readBackwards(log, { wanted, limits });
  let first = lines.length;
  for (let bytes = 0; first > 0 && lines.length - first < tail; first--) {
    bytes += lines[first - 1]?.bytes.length ?? 0;
    if (bytes > MAX_TAIL_BYTES) break;
  }
  return { lines: lines.slice(first), end };
}
