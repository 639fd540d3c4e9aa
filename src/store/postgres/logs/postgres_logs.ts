/**
 * The logs of tasks in the database, where every daemon reads them.
 *
 * @module
 */

import { concatBytes } from "../../../base/bytes.ts";
import type { Clock } from "../../../base/clock.ts";
import type { LogStore, LogWriter, LogWriting, OpenLog, StoredLog } from "../../log_store.ts";
import type { Connections } from "../database/connections.ts";
import { blocksOf, findEnd, findLastBlock, type LogBlock, type NewBlocks } from "./log_rows.ts";
import { BlockWriter } from "./log_writer.ts";

/** The database of the logs, and the claims under which this daemon writes them. */
export interface PostgresLogsHost {
  readonly connections: Connections;
  readonly clock: Clock;
  /** The claim under which this daemon runs a task; `undefined` when it does not. */
  readonly epochOf: (taskId: string) => number | undefined;
  /** Adds blocks, together with those of other tasks; `false` when their run may not write. */
  readonly add: (blocks: NewBlocks) => Promise<boolean>;
  /** Most bytes that are kept of the output of one step. */
  readonly maxStepBytes: number;
}

/** The logs of a database. */
export class PostgresLogs implements LogStore {
  readonly #host: PostgresLogsHost;

  constructor(host: PostgresLogsHost) {
    this.#host = host;
  }

  of(taskId: string): StoredLog {
    return new LogOfTask(taskId, this.#host);
  }
}

/** No task has this epoch: a writer without a claim is refused. */
const NOT_CLAIMED = -1;

class LogOfTask implements StoredLog {
  readonly #taskId: string;
  readonly #host: PostgresLogsHost;

  constructor(taskId: string, host: PostgresLogsHost) {
    this.#taskId = taskId;
    this.#host = host;
  }

  get maxStepBytes(): number {
    return this.#host.maxStepBytes;
  }

  async open(): Promise<OpenLog | undefined> {
    const { connections } = this.#host;
    const last = await connections.use((db) => findLastBlock(db, this.#taskId));
    return last && new OpenRows(this.#taskId, connections, last);
  }

  write(writing: LogWriting): LogWriter {
    const { connections, clock, add, epochOf } = this.#host;
    const taskId = this.#taskId;
    const claim = { taskId, epoch: epochOf(taskId) ?? NOT_CLAIMED };
    return new BlockWriter({
      ...writing,
      clock,
      findEnd: () => connections.use((db) => findEnd(db, claim)),
      add: (blocks) => add({ ...claim, blocks }),
    });
  }
}

/** A reader that looks for the beginning of a line goes on from there. */
const AHEAD_BYTES = 256 * 1024;

/** Reads of it that lie close together are one query. */
class OpenRows implements OpenLog {
  readonly size: number;
  readonly #taskId: string;
  readonly #connections: Connections;
  /** Parts that were read last, the latest first. */
  #near: readonly LogBlock[];

  constructor(taskId: string, connections: Connections, last: LogBlock) {
    this.#taskId = taskId;
    this.#connections = connections;
    this.#near = [last];
    this.size = last.position + last.bytes.length;
  }

  async read(start: number, end: number): Promise<Uint8Array> {
    const wanted = { start, end: Math.min(end, this.size) };
    if (wanted.start >= wanted.end) return new Uint8Array();
    const part = this.#near.find((one) => isIn(one, wanted)) ?? await this.#load(wanted);
    return part.bytes.subarray(start - part.position, wanted.end - part.position);
  }

  [Symbol.dispose](): void {
    this.#near = [];
  }

  async #load({ start, end }: { readonly start: number; readonly end: number }): Promise<LogBlock> {
    const wanted = { start, end: Math.max(end, start + AHEAD_BYTES) };
    const blocks = await this.#connections.use((db) => blocksOf(db, this.#taskId, wanted));
    const [first] = blocks;
    // Its task may have been removed meanwhile.
    if (first === undefined) return { position: start, bytes: new Uint8Array() };
    const part = {
      position: first.position,
      bytes: concatBytes(...blocks.map(({ bytes }) => bytes)),
    };
    this.#near = [part, ...this.#near.slice(0, 1)];
    return part;
  }
}

function isIn(
  { position, bytes }: LogBlock,
  { start, end }: { readonly start: number; readonly end: number },
): boolean {
  return position <= start && end <= position + bytes.length;
}
