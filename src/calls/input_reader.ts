/**
 * What a caller writes, taken apart: texts that end with a NUL, and then its standard input.
 *
 * @module
 */

import { concatBytes } from "../base/bytes.ts";

/** Most bytes of one read. */
const READ_BYTES = 64 * 1024;

/** Reads one pipe. */
export class InputReader {
  readonly #pipe: Deno.FsFile;
  readonly #signal: AbortSignal;
  #read: Uint8Array = new Uint8Array();
  /** Standard input as far as it has been read. */
  #given: Uint8Array[] | undefined;

  /** A reader of this pipe, which gives up when `signal` aborts and something is read. */
  constructor(pipe: Deno.FsFile, signal: AbortSignal) {
    this.#pipe = pipe;
    this.#signal = signal;
  }

  /** Whether standard input was asked for. */
  get ending(): boolean {
    return this.#given !== undefined;
  }

  /**
   * The bytes up to the next NUL.
   *
   * @throws When there are more than `most`, or the caller has gone.
   */
  async untilNul(most: number): Promise<Uint8Array> {
    for (;;) {
      const end = this.#read.indexOf(0);
      if (end >= 0 && end <= most) {
        const text = this.#read.subarray(0, end);
        this.#read = this.#read.subarray(end + 1);
        return text;
      }
      if (this.#read.length > most) throw new Error("The caller writes more than it may");
      const more = await this.#more();
      if (more === undefined) throw new Error("The caller has gone");
      this.#read = concatBytes(this.#read, more);
    }
  }

  /** Everything up to the end; `undefined` when it is more than `most`. */
  async untilEnd(most: number): Promise<Uint8Array | undefined> {
    const given = this.#given = [this.#read];
    for (let length = this.#read.length; length <= most;) {
      const more = await this.#more();
      if (more === undefined) return concatBytes(...given);
      given.push(more);
      length += more.length;
    }
    return undefined;
  }

  /** What {@linkcode untilEnd} has read, and all that follows. */
  async *again(): AsyncGenerator<Uint8Array> {
    yield* this.#given ?? [];
    for (let more = await this.#more(); more !== undefined; more = await this.#more()) yield more;
  }

  async #more(): Promise<Uint8Array | undefined> {
    const buffer = new Uint8Array(READ_BYTES);
    const length = await this.#pipe.read(buffer);
    this.#signal.throwIfAborted();
    return length === null || length === 0 ? undefined : buffer.slice(0, length);
  }
}
