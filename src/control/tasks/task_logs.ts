/**
 * `task logs`: the output of a task as it was printed, read as the run writes it; with
 * `follow` until the task has ended, with `tail` from its last lines on, with `contains` only the
 * lines that have a text.
 *
 * @module
 */

import type { Input } from "../../api/operations.ts";
import type { LogEnd, LogEntry } from "../../api/task_operations.ts";
import { concatBytes, toBase64, utf8 } from "../../base/bytes.ts";
import { type Clock, nextTurn, rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { AppError } from "../../base/errors.ts";
import type { Events } from "../../store/events.ts";
import type { LogStore, StoredLog } from "../../store/log_store.ts";
import type { TaskStore } from "../../store/task_store.ts";
import type { Task } from "../../store/task_records.ts";
import type { LogChunk } from "../../tasks/log/log_format.ts";
import { FromPlace, type LinePlace, type LogLine } from "../../tasks/log/log_lines.ts";
import { findTail, LogFollower, type WantedLines } from "../../tasks/log/log_pages.ts";
import { LogReader, readLog } from "../../tasks/log/log_reader.ts";
import { type Changed, Changes } from "../records/changes.ts";
import { findTask } from "../records/records.ts";

/** Shortest time between two reads of a followed log. */
const SPACING_MS = 100;
/** Longest time between two reads of a followed log. */
export const POLL_INTERVAL_MS = 15_000;
/** Most bytes of last lines, however many lines were asked for. */
const MAX_TAIL_BYTES = 16 * 1024 * 1024;
/** Lines, and bytes of the log, of one step of a search: what one reader who is slow may hold. */
const [PAGE_LINES, PAGE_BYTES] = [10_000, 128 * 1024];
/** Longest beginning of a line that is searched and given: what is beyond is counted only. */
const SEARCHED_BYTES = 256 * 1024;

/** Does one piece of work at a time, with time for what else there is between two. */
class Turns {
  #last: Promise<unknown> = Promise.resolve();

  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.then(nextTurn, nextTurn);
    return done;
  }
}

/** However many read, each part that is taken apart is followed by other requests. */
const PARTS = new Turns();

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
  const from = await beginning(log, wanted, input.tail);
  const output = input.contains === undefined
    ? new Chunks(log, wanted, from)
    : new MatchingLines(log, wanted, from);
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

/** Where reading begins: after a byte, with the line of a place, or with what came at a time. */
type From =
  | { readonly after: number; readonly tail?: Tail; readonly cut?: FromPlace }
  | { readonly at: number };

/** Where the last lines begin, and where they ended when they were asked for. */
type Tail = { readonly place: LinePlace; readonly end: number };

/** Finds the place of the first of the last lines; they are read forwards from there, as all others. */
async function beginning(log: StoredLog, wanted: WantedLines, tail?: number): Promise<From> {
  if (tail === undefined) return wanted.since === undefined ? { after: 0 } : { at: wanted.since };
  const most = { lines: tail, bytes: MAX_TAIL_BYTES, lineBytes: SEARCHED_BYTES };
  const { place, end } = await PARTS.inTurn(() => findTail(log, wanted, most));
  using reader = await LogReader.open(log);
  const cut = reader && await FromPlace.read(reader, place, end);
  return { after: place.offset, tail: { place, end }, ...defined({ cut }) };
}

/** The output as it was printed, read on and on. */
class Chunks {
  readonly #log: StoredLog;
  readonly #wanted: WantedLines;
  readonly #cut: FromPlace | undefined;
  #from: From;

  constructor(log: StoredLog, wanted: WantedLines, from: From) {
    this.#log = log;
    this.#wanted = wanted;
    this.#from = from;
    this.#cut = "cut" in from ? from.cut : undefined;
  }

  /** What has come since the last read. */
  async *read(): AsyncGenerator<LogEntry> {
    const { step, since = -Infinity } = this.#wanted;
    let offset = "after" in this.#from ? this.#from.after : await findFrom(this.#log, since);
    for (;;) {
      const { chunks, next } = await PARTS.inTurn(() => readLog(this.#log, offset));
      for (const found of chunks) {
        if (found.at < since || step !== undefined && found.step !== step) continue;
        const chunk = this.#cut?.cut(found) ?? found;
        if (chunk.bytes.length > 0) yield toEntry(chunk);
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
  readonly #tail: Tail | undefined;
  /** Lines without a line break so far, by what names them. */
  readonly #begun = new Map<string, LogLine>();

  constructor(log: StoredLog, wanted: WantedLines, from: From) {
    this.#follower = new LogFollower(log, { wanted, lineBytes: SEARCHED_BYTES, ...from });
    this.#tail = "tail" in from ? from.tail : undefined;
  }

  /** What has come since the last read; lines without a line break only when nothing follows. */
  async *read(over: boolean): AsyncGenerator<LogEntry> {
    for (let atEnd = false; !atEnd;) {
      const limits = { lines: PAGE_LINES, lookedAt: PAGE_BYTES };
      const page = await PARTS.inTurn(() => this.#follower.read(limits));
      for (const line of page.lines) {
        if (this.#isBeforeTail(line, page.end)) continue;
        if (line.ended) {
          this.#begun.delete(nameOf(line));
          yield toEntry(whole(line));
        } else {
          this.#begun.set(nameOf(line), line);
        }
      }
      atEnd = page.atEnd;
    }
    if (over) { for (const line of this.#begun.values()) yield toEntry(whole(line)); }
  }

  /** Whether a line is older than the last lines, and has not gone on after them either. */
  #isBeforeTail({ offset, n }: LogLine, readTo: number): boolean {
    if (this.#tail === undefined) return false;
    const { place, end } = this.#tail;
    return offset < place.offset ? readTo <= end : offset === place.offset && n < place.n;
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

/** A line as it was printed, as far as it was kept. */
function whole(line: LogLine): LogChunk {
  const rest = line.cut > 0 ? ` [svc: ${line.cut} more bytes, shown without --grep]` : "";
  return { ...line, bytes: concatBytes(line.bytes, utf8(line.ended ? `${rest}\n` : rest)) };
}
