/**
 * The storage interface for the output of tasks: for each task one sequence of bytes that only
 * grows, of whole lines. A store does not read the lines (`tasks/log/log_format.ts` does), so that
 * reading is written once for all stores. A position is a number of bytes from the start.
 *
 * @module
 */

/** The logs of all tasks. */
export interface LogStore {
  /** The log of a task. The call makes no file. */
  of(taskId: string): StoredLog;
  /** Logs that may outlive their tasks; absent if a log is always removed with its task. */
  readonly left?: OrphanedLogs;
}

/** The log of one task. */
export interface StoredLog {
  /** Most bytes that are kept of the output of one step. */
  readonly maxStepBytes: number;
  /** Opens it as it is now; `undefined` as long as nothing was written. */
  open(): Promise<OpenLog | undefined>;
  /** Continues it. Only the run of the task that is the latest may write. */
  write(options: LogWriting): LogWriter;
}

/** A log as it was when it was opened. */
export interface OpenLog extends Disposable {
  /** Bytes that it had; the last line may not be whole yet. */
  readonly size: number;
  /** The bytes from `start` up to `end`; fewer where it ends before. */
  read(start: number, end: number): Promise<Uint8Array>;
}

/** Options of a writer. */
export interface LogWriting {
  /** Called when more can be read. */
  readonly onWritten: () => void;
  /** Aborts when the run ends soon: from then on the writer waits for nothing long. */
  readonly stop: AbortSignal;
}

/** Writes a log. Its end waits until everything can be read. */
export interface LogWriter {
  /**
   * Adds whole lines, each with its line break; one call at a time. Resolves when there is room for
   * more, which may be before they can be read; rejects when they are lost.
   */
  append(lines: Uint8Array): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Logs without a task. */
export interface OrphanedLogs {
  /** Ids of the tasks whose logs there are. */
  owners(): AsyncIterable<string>;
  /** Removes the log of a task, if it has one. */
  remove(taskId: string): Promise<void>;
}
