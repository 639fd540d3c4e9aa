/**
 * `task logs`: the output of a task as it was printed, read from the file that the run writes; with
 * `follow` until the task has ended, with `tail` from its last lines on.
 *
 * @module
 */

import type { Input } from "../../api/operations.ts";
import type { LogEnd, LogEntry } from "../../api/task_operations.ts";
import { toBase64 } from "../../base/bytes.ts";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import type { DataDir } from "../../base/data_dir.ts";
import { AppError } from "../../base/errors.ts";
import { type Line, Lines } from "../../base/lines.ts";
import type { Events } from "../../store/events.ts";
import type { TaskStore } from "../../store/task_store.ts";
import type { Task } from "../../store/task_records.ts";
import { type LogChunk, logPath, readLog } from "../../tasks/log/task_log.ts";
import { type Changed, Changes } from "../records/changes.ts";
import { findTask } from "../records/records.ts";

/** Shortest time between two reads of a followed log. */
const SPACING_MS = 100;
/** Longest time between two reads of a followed log. */
const POLL_INTERVAL_MS = 15_000;
/** Most bytes of last lines, however many lines were asked for. */
const MAX_TAIL_BYTES = 16 * 1024 * 1024;

/** What {@linkcode taskLogs} needs. */
export interface LogsHost {
  readonly store: TaskStore;
  /** Announces new output and changes of the task. */
  readonly events: Events;
  readonly dirs: DataDir;
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
  const path = logPath(host.dirs.logs, found.id);
  const isWanted = chunkFilter(input, host.clock.now());
  let offset = 0;
  if (input.tail !== undefined) {
    const { lines, next } = await lastLines(path, input.tail, isWanted);
    for (const { at, source, bytes } of lines) yield toEntry({ ...source, at, bytes });
    offset = next;
  }
  let task = found;
  for (let changed: Changed = "any"; !signal.aborted;) {
    // Asked before the file is read: what was written before the end is in it.
    const mayHaveEnded = typeof changed === "string" || changed.has(found.id);
    if (mayHaveEnded) task = await findTask(found.id, host.store);
    const over = task.finishedAt !== undefined || !input.follow;
    for (;;) {
      const { chunks, next } = await readLog(path, offset);
      for (const chunk of chunks.filter(isWanted)) yield toEntry(chunk);
      if (next === offset) break;
      offset = next;
    }
    if (over) return yield { state: task.state, reason: task.reason };
    changed = await changes.next(POLL_INTERVAL_MS, signal);
  }
}

/** Changes of the task and of its log file; new output alone is no reason to read the task. */
function logChanges(id: string, { events, clock }: LogsHost): Changes {
  const spacingMs = SPACING_MS;
  const isWanted = (changed: string) => changed === id;
  const changes = Changes.ofRecords({ events, record: "task", spacingMs, clock, isWanted });
  changes.subscribe(events.on("logWritten", ({ taskId }) => {
    if (taskId === id) changes.add("log");
  }));
  return changes;
}

function checkStep(step: string | undefined, { id, steps }: Task): void {
  if (step === undefined || steps.length === 0 || steps.some((one) => one.id === step)) return;
  const known = steps.map((one) => one.id).join(", ");
  throw new AppError("usage", `Task ${id} has no step "${step}": its steps are ${known}`);
}

function chunkFilter(
  { step, since_secs: sinceSecs }: Input<"task.logs">,
  now: number,
): (chunk: LogChunk) => boolean {
  const since = sinceSecs === undefined ? -Infinity : now - sinceSecs * 1000;
  return (chunk) => chunk.at >= since && (step === undefined || chunk.step === step);
}

function toEntry({ at, step, stream, bytes }: LogChunk): LogEntry {
  return { at: rfc3339(at), step, stream, data: toBase64(bytes) };
}

type Source = Pick<LogChunk, "step" | "stream">;

/** The last `tail` lines so far, an unfinished one included, and the position after them. */
async function lastLines(
  path: string,
  tail: number,
  isWanted: (chunk: LogChunk) => boolean,
): Promise<{ lines: Line<Source>[]; next: number }> {
  const assembly = new Lines<Source>(({ step, stream }) => `${step}\n${stream}`);
  let kept: Line<Source>[] = [];
  let bytes = 0;
  const keep = (lines: readonly Line<Source>[]) => {
    for (const line of lines) {
      kept.push(line);
      bytes += line.bytes.length;
    }
    let gone = 0;
    for (; kept.length - gone > tail || bytes > MAX_TAIL_BYTES; gone++) {
      bytes -= kept[gone]?.bytes.length ?? 0;
    }
    kept = kept.slice(gone);
  };
  let offset = 0;
  for (;;) {
    const { chunks, next } = await readLog(path, offset);
    keep(
      chunks.filter(isWanted).flatMap(({ step, stream, at, bytes }) =>
        assembly.push({ step, stream }, { at, bytes })
      ),
    );
    if (next === offset) break;
    offset = next;
  }
  keep(assembly.flush());
  return { lines: kept, next: offset };
}
