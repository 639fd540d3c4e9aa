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
import { nextTurn, rfc3339 } from "../../base/clock.ts";
import type { StoredLog } from "../../store/log_store.ts";
import type { LogChunk } from "../../tasks/log/log_format.ts";
import { FromPlace, type LinePlace, type LogLine } from "../../tasks/log/log_lines.ts";
import { findTail, type LogFilter, LogFollower } from "../../tasks/log/log_pages.ts";
import { LogReader } from "../../tasks/log/log_reader.ts";
import { findLog, followLog, type LogsHost } from "./followed_log.ts";

/** Most bytes of last lines, however many lines were asked for. */
const MAX_TAIL_BYTES = 16 * 1024 * 1024;
/** Lines, and bytes of the log, of one step of a search, which a slow reader keeps in memory. */
const PAGE_LIMITS = { lines: 10_000, lookedAt: 128 * 1024 };
/** Longest beginning of a line that is searched and given: what is beyond is counted only. */
const SEARCHED_BYTES = 256 * 1024;

/** Does one piece of work at a time; other events are handled between two. */
class Turns {
  #last: Promise<unknown> = Promise.resolve();

  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.then(nextTurn, nextTurn);
    return done;
  }
}

/**
 * Shared by all streams: however many read logs, other requests come between two parts of a log.
 */
const PARTS = new Turns();

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
  const { step, contains, follow, raw, since_secs: sinceSecs } = input;
  const { task: found, log } = await findLog(input, host);
  const since = sinceSecs === undefined ? undefined : host.clock.now() - sinceSecs * 1000;
  const filter = { step, contains, since, ...(raw === true ? { stream: "raw" as const } : {}) };
  const tail = input.tail === undefined ? undefined : await lastLines(log, filter, input.tail);
  const from = tail !== undefined
    ? { after: tail.place.offset }
    : since !== undefined
    ? { at: since }
    : { after: 0 };
  const follower = new LogFollower(log, { filter, lineBytes: SEARCHED_BYTES, ...from });
  const output = contains === undefined
    ? new Chunks(follower, await chunksFrom(log, tail))
    : new MatchingLines(follower, tail);
  for await (const task of followLog(found, host, signal)) {
    const over = task.finishedAt !== undefined || !follow;
    yield* output.read(over);
    if (over) return yield { state: task.state, reason: task.reason };
  }
}

/** Where the last lines begin, and where they ended when they were asked for. */
type Tail = { readonly place: LinePlace; readonly end: number };

/** Finds the first of the last lines; they are read forwards from there, as all others are. */
function lastLines(log: StoredLog, filter: LogFilter, lines: number): Promise<Tail> {
  const most = { lines, bytes: MAX_TAIL_BYTES, lineBytes: SEARCHED_BYTES };
  return PARTS.inTurn(() => findTail(log, filter, most));
}

/** Leaves of the chunks only what belongs to the last lines. */
async function chunksFrom(log: StoredLog, tail?: Tail): Promise<FromPlace | undefined> {
  using reader = tail && await LogReader.open(log);
  return tail && reader && await FromPlace.read(reader, tail.place, tail.end);
}

/** The output as it was printed, read on and on. */
class Chunks {
  readonly #follower: LogFollower;
  readonly #from: FromPlace | undefined;

  constructor(follower: LogFollower, from: FromPlace | undefined) {
    this.#follower = follower;
    this.#from = from;
  }

  /** What has come since the last read. */
  async *read(): AsyncGenerator<LogEntry> {
    for (let isAtEnd = false; !isAtEnd;) {
      const { chunks, atEnd } = await PARTS.inTurn(() => this.#follower.readChunks());
      for (const whole of chunks) {
        const chunk = this.#from?.cut(whole) ?? whole;
        if (chunk.bytes.length > 0) yield toEntry(chunk);
      }
      isAtEnd = atEnd;
    }
  }
}

/** The lines of the output that contain a text, read on and on. */
class MatchingLines {
  readonly #follower: LogFollower;
  readonly #tail: Tail | undefined;
  /** Lines without a line break so far, by what names them. */
  readonly #begun = new Map<string, LogLine>();

  constructor(follower: LogFollower, tail: Tail | undefined) {
    this.#follower = follower;
    this.#tail = tail;
  }

  /** What has come since the last read; lines without a line break only when nothing follows. */
  async *read(over: boolean): AsyncGenerator<LogEntry> {
    for (let isAtEnd = false; !isAtEnd;) {
      const { lines, end, atEnd } = await PARTS.inTurn(() => this.#follower.read(PAGE_LIMITS));
      for (const line of lines) {
        if (this.#isBeforeTail(line, end)) continue;
        if (line.ended) {
          this.#begun.delete(nameOf(line));
          yield toEntry(printed(line));
        } else {
          this.#begun.set(nameOf(line), line);
        }
      }
      isAtEnd = atEnd;
    }
    if (over) { for (const line of this.#begun.values()) yield toEntry(printed(line)); }
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

function toEntry({ at, step, stream, bytes }: LogChunk): LogEntry {
  return { at: rfc3339(at), step, stream, data: toBase64(bytes) };
}

/** The kept part of a line, as it was printed. */
function printed(line: LogLine): LogChunk {
  const rest = line.cut > 0 ? ` [svc: ${line.cut} more bytes, shown without --grep]` : "";
  return { ...line, bytes: concatBytes(line.bytes, utf8(line.ended ? `${rest}\n` : rest)) };
}
