/**
 * Writes the log of a running task in blocks: what came within a moment is one. While the database
 * is away a part is kept in memory, then the steps wait; nothing is lost as long as the run goes
 * on.
 *
 * @module
 */

import { concatBytes } from "../../../base/bytes.ts";
import type { Clock } from "../../../base/clock.ts";
import { AppError } from "../../../base/errors.ts";
import type { LogWriter, LogWriting } from "../../log_store.ts";
import type { LogBlock } from "./log_rows.ts";

/** The log that is written. */
export interface LogWriterHost extends LogWriting {
  readonly clock: Clock;
  /** Finds where the log ends; `undefined` when this run may not write it. */
  readonly findEnd: () => Promise<number | undefined>;
  /** Adds blocks; `false` when this run may not write any more. */
  readonly add: (blocks: readonly LogBlock[]) => Promise<boolean>;
}

/** Bytes of a block; more only where what is added at once is longer. */
const BLOCK_BYTES = 64 * 1024;
/** Most blocks that are stored together. */
const MAX_BLOCKS = 8;
/** Time between two blocks that are smaller. */
const SPACING_MS = 200;
/** Bytes that wait in memory; beyond it the steps wait. */
const MAX_HELD_BYTES = 1024 * 1024;
/** Pause before the database is tried again. */
const RETRY_MS = 500;
/** Time for which writing is tried again once the run is about to end. */
const PATIENCE_MS = 2000;

/** Writes one log. */
export class BlockWriter implements LogWriter {
  readonly #host: LogWriterHost;
  /** Position of the next block. */
  #position: number | undefined;
  /** Lines that are in no block yet, and below the number of their bytes. */
  #lines: Uint8Array[] = [];
  #waiting = 0;
  /** Bytes that are not stored yet, those of the blocks under way included. */
  #held = 0;
  #storing: Promise<void> | undefined;
  /** When blocks were stored last. */
  #lastMs = -Infinity;
  /** Aborts when the next block is not to wait. */
  #hurry = new AbortController();
  #isClosing = false;
  /** Resolves when there may be room. */
  #room = Promise.withResolvers<void>();
  /** Why nothing more can be written. */
  #refusal: { readonly error: unknown } | undefined;

  constructor(host: LogWriterHost) {
    this.#host = host;
  }

  async append(lines: Uint8Array): Promise<void> {
    while (this.#held > MAX_HELD_BYTES && this.#refusal === undefined) await this.#room.promise;
    if (this.#refusal !== undefined) throw this.#refusal.error;
    this.#lines.push(lines);
    this.#waiting += lines.length;
    this.#held += lines.length;
    if (this.#waiting >= BLOCK_BYTES) this.#hurry.abort();
    this.#storing ??= this.#storeAll();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    this.#hurry.abort();
    await this.#storing;
  }

  /** Stores what there is, one part after the other. Never rejects. */
  async #storeAll(): Promise<void> {
    const { clock, onWritten } = this.#host;
    try {
      while (this.#lines.length > 0) {
        const waitMs = this.#lastMs + SPACING_MS - clock.monotonicMs();
        if (waitMs > 0) await clock.pause(waitMs, this.#hurry.signal);
        this.#lastMs = clock.monotonicMs();
        const blocks = this.#takeBlocks();
        this.#held -= await this.#store(blocks);
        this.#makeRoom();
        onWritten();
      }
    } catch (error) {
      this.#refusal = { error };
      this.#lines = [];
      this.#makeRoom();
    }
    this.#storing = undefined;
  }

  /** The blocks to be stored next: as many as are full, or all that there is. */
  #takeBlocks(): Uint8Array[] {
    const blocks = [this.#takeBlock()];
    while (blocks.length < MAX_BLOCKS && this.#waiting >= BLOCK_BYTES) {
      blocks.push(this.#takeBlock());
    }
    if (!this.#isClosing && this.#waiting < BLOCK_BYTES) this.#hurry = new AbortController();
    return blocks;
  }

  #takeBlock(): Uint8Array {
    let [count, length] = [0, 0];
    for (const line of this.#lines) {
      if (count > 0 && length + line.length > BLOCK_BYTES) break;
      count++;
      length += line.length;
    }
    this.#waiting -= length;
    return concatBytes(...this.#lines.splice(0, count));
  }

  /**
   * Stores blocks, as soon as the database takes them; gives their number of bytes.
   *
   * @throws {AppError} `conflict` when this run may not write any more; what went wrong when the run
   *   is to end and it went wrong again and again.
   */
  async #store(blocks: readonly Uint8Array[]): Promise<number> {
    const { clock, stop, findEnd, add } = this.#host;
    for (let until = Infinity;;) {
      try {
        const start = this.#position ??= await findEnd();
        if (start === undefined) throw taskIsElsewhere();
        let end = start;
        const placed = blocks.map((bytes) => ({
          position: (end += bytes.length) - bytes.length,
          bytes,
        }));
        if (!await add(placed)) throw taskIsElsewhere();
        this.#position = end;
        return end - start;
      } catch (error) {
        if (error instanceof AppError && error.code === "conflict") throw error;
        const now = clock.monotonicMs();
        if (stop.aborted) until = Math.min(until, now + PATIENCE_MS);
        if (now >= until) throw error;
        await clock.pause(RETRY_MS);
      }
    }
  }

  #makeRoom(): void {
    this.#room.resolve();
    this.#room = Promise.withResolvers();
  }
}

function taskIsElsewhere(): AppError {
  return new AppError("conflict", "This run of the task is over: another daemon has taken it");
}
